"""The terminal below the stepper: whether there is one to use, Textual's driver for it, ends that give it back."""
