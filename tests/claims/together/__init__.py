"""Reads all sentences of a step together with its row and its panes, and holds each against the step's values."""
