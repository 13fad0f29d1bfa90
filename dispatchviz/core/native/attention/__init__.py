"""Attention: which kernel computes it, and what each of them does."""
