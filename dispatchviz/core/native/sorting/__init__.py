"""Sorting, searching, selecting by rank, unique elements."""
