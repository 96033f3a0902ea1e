"""The newest frames of journals, for readers that keep up. The rows are the truth."""
