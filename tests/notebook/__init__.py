"""Notebooks: cells as programs, the magics, what a notebook keeps."""
