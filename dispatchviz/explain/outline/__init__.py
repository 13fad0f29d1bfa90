"""A trace seen from above: the user's lines, turns of loops and calls as a tree, of which a screen shows what is unfolded."""
