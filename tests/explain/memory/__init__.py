"""The memory that saved tensors keep."""
