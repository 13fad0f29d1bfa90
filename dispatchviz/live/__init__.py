"""An installed PyTorch: its registrations, a comparison with another release, and its own stack in a debugger."""
