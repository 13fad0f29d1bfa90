"""The machine: PyTorch's dispatcher and autograd engine. ``docs/architecture.md`` describes its packages."""
