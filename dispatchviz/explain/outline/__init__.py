"""A trace as an overview: a tree of the user's lines, iterations of loops, and calls."""
