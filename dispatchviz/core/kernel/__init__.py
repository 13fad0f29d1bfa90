"""Kernels: what fills a cell, its C++ signature, and the forms in which it is called."""
