"""The plane of a control plane: its verbs as HTTP requests with msgpack bodies."""
