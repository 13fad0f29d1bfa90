"""A program run again with a line changed: the changes, the changed syntax tree, and the changes offered at a step."""
