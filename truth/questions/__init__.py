"""Questions to PyTorch and the model that are not whole programs."""
