"""Helpers that know nothing of PyTorch: errors, text for a terminal, processes, files, lazy imports."""
