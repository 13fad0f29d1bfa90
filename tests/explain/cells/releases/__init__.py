"""Answers about older releases of PyTorch."""
