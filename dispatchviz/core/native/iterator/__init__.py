"""TensorIterator, strides, memory formats, scalars, and argument checks of kernels."""
