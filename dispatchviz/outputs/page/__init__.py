"""The HTML player: a trace as one file that a browser opens without a network, in the words of the stepper.

What a pane says is made here once, by the stepper's own functions, and kept as data; the page (``assets``) draws it.
"""
