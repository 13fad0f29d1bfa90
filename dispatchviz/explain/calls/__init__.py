"""One call of a trace: its stack, its key-set card, its cell."""
