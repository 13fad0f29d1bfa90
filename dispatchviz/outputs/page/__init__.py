"""The HTML player: a trace as one file that a browser opens without a network, in the words of the stepper.

The stepper's own functions make the contents of each pane once, as data. The page (``assets``) draws it.
"""
