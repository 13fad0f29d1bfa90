"""Functionalization: programs without writes to memory, from programs with them.

Read ``wrapper.py`` first, then ``fallback.py`` and ``kernels.py``.
"""
