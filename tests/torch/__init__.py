"""Tests of the ``torch`` namespace, where PyTorch is Python too."""
