"""The rows of the engine pane, a section a module."""
