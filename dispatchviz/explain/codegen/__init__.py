"""The output of the code generators for one operator: yaml entries, generated functions, PyTorch's files, calls."""
