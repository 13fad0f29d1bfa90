"""Autograd's side of a tensor: its metadata, views and versions, what in-place operations check."""
