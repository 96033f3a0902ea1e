"""Payloads and archives that are too large for a row."""
