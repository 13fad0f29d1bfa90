"""New tensors: empty, filled, ranges."""
