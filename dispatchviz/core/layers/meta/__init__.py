"""The key Meta: shapes without numbers (``aten/src/ATen/core/MetaFallbackKernel.cpp``,
``torch/_meta_registrations.py``).
"""
