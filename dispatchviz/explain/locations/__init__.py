"""Source locations: PyTorch's functions and files, and our own source lines at a step."""
