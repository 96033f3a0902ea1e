"""The documents in MongoDB."""
