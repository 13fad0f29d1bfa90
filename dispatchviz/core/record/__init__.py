"""Recordings: the notes that the machine emits while it runs, and the events that are built from them."""
