"""Tests of what is said of two runs beside each other."""
