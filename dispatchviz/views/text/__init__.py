"""Text of the stepper: lines of spans with roles, fitted to a width and coloured by a theme. Knows no widget."""
