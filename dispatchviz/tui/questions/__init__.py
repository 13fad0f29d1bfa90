"""The questions on the bottom line, one class each: its label, and what follows from each keystroke and the answer."""
