"""Functionalization: programs without writes to memory, from programs with them.

Read ``functional_wrapper.py`` first, then ``functionalize_fallback.py`` and ``functionalize_kernels.py``.
"""
