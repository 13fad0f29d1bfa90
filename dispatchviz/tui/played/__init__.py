"""The stepper driven by keys without a terminal: its screens as pictures and as a recording."""
