"""The stepper: a trace on a terminal screen, with Textual.

A key runs an action (``actions``), which is a function of the session that returns a new cursor. ``views`` turns the
cursor into lines of text, and a size into boxes. ``widgets`` and ``screens`` paint them. Importing this package does
not import Textual; ``dispatchviz.tui.app`` does.
"""
