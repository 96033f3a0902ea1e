"""The local plane: one SQLite file, or a database in memory."""
