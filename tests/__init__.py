"""The tests, a folder for each part of the package; ``claims``, ``conformance`` and ``model`` compare with PyTorch."""
