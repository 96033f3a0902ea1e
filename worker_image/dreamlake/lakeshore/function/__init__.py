"""Functions that run elsewhere: udf, thunk, map, and the one place where bodies run."""
