"""What a notebook shows of a value: HTML that can be read without a kernel, and without scripts and styles."""
