"""An installed PyTorch, asked while it is there: what it registers. Nothing else of the package imports it."""
