"""``_foreach_*``: operators on lists of tensors; fused optimizers."""
