"""What kernels share: TensorIterator, strides, memory formats, scalars, checks of arguments."""
