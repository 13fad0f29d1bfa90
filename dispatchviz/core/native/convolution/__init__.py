"""Convolutions, forward and backward, a module per backend."""
