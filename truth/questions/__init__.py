"""Queries of both PyTorch and the model, beside whole programs."""
