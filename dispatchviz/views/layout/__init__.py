"""The layout as arithmetic: which panes a step needs, and the rectangle of every widget. Knows no widget."""
