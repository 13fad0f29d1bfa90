"""Upsampling, grid sampling, im2col and col2im, padding."""
