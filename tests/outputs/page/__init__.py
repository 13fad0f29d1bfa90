"""The HTML player: its data against the stepper's own panes, the page in a real browser."""
