"""Screens in browsers: the gate, what a session may do, how it ends."""
