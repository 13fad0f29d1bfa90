"""What sentences claim about PyTorch, put to a real one."""
