"""Copies, conversions, fills, storage."""
