"""One call of a trace: its text, call stack, key-set card and dispatch table entry."""
