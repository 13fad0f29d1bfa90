"""Operators on lists of tensors, and fused optimizers."""
