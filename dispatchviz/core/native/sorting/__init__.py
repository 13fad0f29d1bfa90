"""Sorting, searching, order statistics, unique elements."""
