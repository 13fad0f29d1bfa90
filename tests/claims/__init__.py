"""Tests of the claims of sentences about PyTorch, against a real PyTorch."""
