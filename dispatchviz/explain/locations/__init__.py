"""Where things stand: PyTorch's files, and our source at a step."""
