"""The control plane: invocations stored durably and handed to workers, over HTTP (MongoDB, Redis and S3 behind it)."""
