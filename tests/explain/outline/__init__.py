"""Tests of the outline: the tree of lines, iterations and calls, and what its rows say."""
