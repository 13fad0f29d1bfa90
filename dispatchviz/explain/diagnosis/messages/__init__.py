"""The messages of PyTorch that are explained: by which words each is recognized, its general cause, its fix."""
