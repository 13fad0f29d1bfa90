"""The terminal below the stepper: whether there is one, Textual's driver, what its reader may do, how it ends."""
