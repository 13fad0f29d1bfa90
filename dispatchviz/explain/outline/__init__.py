"""A trace seen from above: the user's lines, iterations of loops and calls as a tree."""
