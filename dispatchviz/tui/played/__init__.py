"""The stepper, played by keys without a terminal: what its screens are, as pictures and as a recording."""
