"""Tests of the outline: the tree of lines, turns and calls, and what its rows say."""
