"""Function schemas: read, checked, printed (``aten/src/ATen/core/function_schema.h``, ``torch/csrc/jit/frontend``)."""
