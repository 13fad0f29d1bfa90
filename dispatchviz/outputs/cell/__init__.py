"""The display of values in a notebook: HTML that can be read without a kernel, and without scripts and styles."""
