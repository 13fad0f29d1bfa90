"""Tests of programs that misbehave, compared with Python and PyTorch: output, traceback and exit status are the
same.
"""
