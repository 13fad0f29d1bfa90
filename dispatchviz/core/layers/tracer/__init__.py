"""The key Tracer (``torch/csrc/autograd/generated/TraceType_*.cpp``)."""
