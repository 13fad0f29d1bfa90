"""The memory that saved tensors keep: sizes, from when to when, who else keeps it, copies in other dtypes."""
