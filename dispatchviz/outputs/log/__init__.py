"""Logs of a trace, line by line: with reasons, or as a debug build of PyTorch prints them."""
