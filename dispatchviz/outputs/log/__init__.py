"""Logs of a trace, line by line: with the reasons, and as a debug build of PyTorch prints it."""
