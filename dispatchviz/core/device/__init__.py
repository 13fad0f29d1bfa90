"""Devices, the array library behind each, and the streams of the CUDA device."""
