"""The key ZeroTensor (``aten/src/ATen/ZeroTensorFallback.cpp``)."""
