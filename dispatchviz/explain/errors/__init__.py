"""What PyTorch's error messages mean, and what caused them."""
