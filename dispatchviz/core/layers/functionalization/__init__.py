"""Functionalization: the layer that removes mutation and aliasing from programs.

Read ``functional_wrapper.py`` first, then ``functionalize_fallback.py`` and ``functionalize_kernels.py``.
"""
