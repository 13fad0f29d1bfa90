"""Notebooks: ``%load_ext dispatchviz``, then ``%%dispatchviz`` runs a cell and shows its trace."""
