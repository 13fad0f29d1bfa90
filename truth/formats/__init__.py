"""The formats of records, which are readable text that changes line by line."""
