"""The short texts of steps in the event list, a module per subject; ``step_labels.py`` has them all."""
