"""The layout as arithmetic: the panes that a step needs, and the rectangle of every widget. It is independent of
widgets.
"""
