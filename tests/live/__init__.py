"""Tests of the modules that read and record an installed PyTorch."""
