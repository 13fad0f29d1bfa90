"""Where ``continue`` stops: at a line, a variable, a Node, a call, a key, a kind of event; under a condition."""
