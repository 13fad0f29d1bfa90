"""Elementwise operators: arithmetic, comparison, rounding, bits, complex numbers."""
