"""What a real PyTorch that is installed does, asked while a program runs on it."""
