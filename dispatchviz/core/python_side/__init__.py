"""The places where the dispatcher calls Python: modes, subclasses, and Python functions as kernels."""
