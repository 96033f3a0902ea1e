"""The stable module path of the worker: ``python -m dreamlake.lakeshore.daemon``."""
