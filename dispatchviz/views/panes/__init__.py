"""The panes as data. Each pane has a module, whose ``rows`` makes styled lines for a step. They are independent of
widgets.
"""
