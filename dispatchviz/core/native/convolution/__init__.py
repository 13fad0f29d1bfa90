"""Convolutions, forward and backward, with one module per backend."""
