"""Fourier transforms, short-time spectra, window functions."""
