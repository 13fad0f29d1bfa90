"""What the code generators make of one operator: entries, generated functions, files at PyTorch, calls."""
