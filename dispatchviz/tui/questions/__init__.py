"""The questions in the bottom row, one class each: its label, and the effects of keystrokes and the answer."""
