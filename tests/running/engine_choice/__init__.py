"""Tests of the choice between the model and an installed PyTorch."""
