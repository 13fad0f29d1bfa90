"""Live comparisons of the model with a real PyTorch (``make conformance``)."""
