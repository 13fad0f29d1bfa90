"""The backward graph of a trace as a value."""
