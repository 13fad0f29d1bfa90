"""Tests of diagnoses: programs with the cause and the fix that each must get, on the model and on an installed
PyTorch.
"""
