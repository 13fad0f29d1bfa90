"""Autocast: the mode, the policies, and the kernels that cast (``aten/src/ATen/autocast_mode.cpp``)."""
