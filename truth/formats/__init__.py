"""Formats of records: text that a person reads and that changes line by line."""
