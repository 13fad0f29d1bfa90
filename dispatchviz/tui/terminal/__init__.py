"""The terminal below the stepper: whether there is one, Textual's driver for it, what its reader may do, ends."""
