"""Images in another size: upsampling, grid sampling, im2col, padding."""
