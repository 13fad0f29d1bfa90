"""Tests of the ``torch`` namespace where it is Python at PyTorch too."""
