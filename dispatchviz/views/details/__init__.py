"""Details that a key opens over the panes: registrations, then and now, tensors and Nodes, a traceback."""
