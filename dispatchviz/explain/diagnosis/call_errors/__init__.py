"""Rules for errors of a call: sizes, dtypes, devices, indices, kernels, custom Functions, transforms."""
