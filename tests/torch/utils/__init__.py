"""Tests of ``torch.utils``."""
