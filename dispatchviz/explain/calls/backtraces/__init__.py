"""Backtraces of debuggers: each frame with its role and PyTorch's file, the key sets in it taken apart."""
