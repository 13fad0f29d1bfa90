"""What the code generators write for one operator: yaml entries, generated functions, PyTorch's files, calls."""
