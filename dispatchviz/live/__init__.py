"""An installed PyTorch: what it registers, how that differs from another one, its own stack in a debugger."""
