"""Older releases of PyTorch: their keys, tables and entries, and the release in which an entry changed."""
