"""The claim order in fast memory: a hint of which rows to claim next. The row is the truth."""
