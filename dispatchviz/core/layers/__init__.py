"""Keys with a backend fallback or kernels of their own above the backends, a folder each."""
