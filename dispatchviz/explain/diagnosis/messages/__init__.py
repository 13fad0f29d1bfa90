"""The messages of PyTorch that are explained: by which words each is recognised, its general cause, its fix."""
