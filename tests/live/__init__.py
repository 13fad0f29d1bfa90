"""Tests of what is read from an installed PyTorch."""
