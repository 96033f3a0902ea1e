"""Where a call runs: scopes, keys, storage, and what `run` gives a body."""
