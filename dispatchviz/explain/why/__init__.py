"""The sentence of each kind of event, one module per group; ``explain.sentences`` is the way in."""
