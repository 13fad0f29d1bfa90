"""Function schemas: their values, parser and printer (``aten/src/ATen/core/function_schema.h``,
``torch/csrc/jit/frontend``).
"""
