"""Autograd kernels written by hand, and the fallback of the Autograd keys."""
