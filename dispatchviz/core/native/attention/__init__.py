"""Attention: scaled dot product attention and its backends, transformer layers."""
