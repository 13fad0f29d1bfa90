"""The tensor and its parts: storage, sizes and strides, dtype, layout, bits of its key set."""
