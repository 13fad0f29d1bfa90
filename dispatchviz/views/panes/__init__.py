"""The panes as data: one module per pane, whose ``rows`` makes styled lines of a step. Knows no widget."""
