"""Operators by name, as users type them, and those whose CUDA kernels leave the GPU."""
