"""The rows of the engine pane, with one module for each section."""
