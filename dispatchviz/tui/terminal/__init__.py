"""The terminal of the stepper: whether there is one, Textual's driver, the rights of its reader, and how it ends."""
