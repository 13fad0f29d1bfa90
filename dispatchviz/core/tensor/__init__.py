"""The tensor and what it is made of: storage, sizes and strides, dtype, layout, bits of its key set."""
