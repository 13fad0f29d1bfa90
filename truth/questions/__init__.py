"""What PyTorch and the model are both asked, beside whole programs."""
