"""The model compared with a real PyTorch, live (``make conformance``)."""
