"""Textual screens: the stepper itself and the texts that open over it."""
