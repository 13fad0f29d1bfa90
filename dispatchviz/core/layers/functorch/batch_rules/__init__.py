"""Batch rules of vmap, by subject (``aten/src/ATen/functorch/BatchRules*.cpp``)."""
