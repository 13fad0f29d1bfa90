"""The rule behind each kind of event, with PyTorch's function and file."""
