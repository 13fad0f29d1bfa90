"""Readers of all sentences of a step, with its row and its panes, that compare each with the step's values."""
