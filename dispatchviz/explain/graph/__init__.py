"""The backward graph of a trace at any step, as a value."""
