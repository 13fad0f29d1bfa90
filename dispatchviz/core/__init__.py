"""The machine: PyTorch's dispatcher and autograd engine; ``docs/architecture.md`` walks through its rooms."""
