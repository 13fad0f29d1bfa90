"""Pooling: maximum, average, adaptive, fractional."""
