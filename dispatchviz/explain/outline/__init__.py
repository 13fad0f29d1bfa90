"""A trace seen from above: the user's lines, turns of loops and calls as a tree."""
