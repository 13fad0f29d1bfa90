"""The bars as data: the rows above and below the panes, which never scroll. Knows no widget."""
