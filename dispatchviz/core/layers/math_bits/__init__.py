"""The keys Conjugate and Negative (``aten/src/ATen/native/MathBitsFallback.h``)."""
