"""Tests of the outline: the tree of lines, iterations and calls, and the texts of its rows."""
