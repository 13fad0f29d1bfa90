"""Operators by the names that people type."""
