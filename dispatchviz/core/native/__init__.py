"""Kernels by subject, and the yaml files that say which operators they belong to (``aten/src/ATen/native``)."""
