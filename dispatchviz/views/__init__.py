"""What a reader sees at a step, as values: rows of panes, the cursor, lists that answer a key. Needs no terminal."""
