"""The text of the stepper: lines of spans with roles, fitted to a width and colored by a theme. It is independent of
widgets.
"""
