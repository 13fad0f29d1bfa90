"""A program run again with a line of it changed: the changes, the changed syntax tree, what may be tried at a step."""
