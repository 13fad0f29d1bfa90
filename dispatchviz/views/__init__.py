"""The views of a step as values: rows of panes, the cursor, lists that answer a key. They need no terminal."""
