"""Backtraces of debuggers: each frame with its role and PyTorch's file, and the parts of its key sets."""
