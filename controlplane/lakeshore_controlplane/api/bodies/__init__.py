"""The bodies of requests: shapes, types and bounds, checked before anything else happens."""
