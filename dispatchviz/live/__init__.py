"""An installed PyTorch: what it registers, and how that differs from another one."""
