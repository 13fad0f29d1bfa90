"""Readers that compare all sentences of a step, its row and its panes with the step's values."""
