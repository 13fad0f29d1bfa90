"""Autograd's side of a tensor: its metadata, views and versions, and the checks of in-place operations."""
