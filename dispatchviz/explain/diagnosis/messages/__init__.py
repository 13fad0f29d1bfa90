"""The messages of PyTorch that are explained: the pattern, general cause and fix of each."""
