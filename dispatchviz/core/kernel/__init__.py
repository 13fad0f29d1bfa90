"""Kernels: the content of dispatch table entries, their C++ signatures, and the forms in which they are called."""
