"""Lakeshore: run Python functions on an elastic pool of workers."""
