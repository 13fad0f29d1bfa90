"""Convolutions, forward and backward, by the library that computes them."""
