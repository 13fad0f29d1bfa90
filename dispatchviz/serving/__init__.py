"""Screens for browsers: a server with a token in its address, and a process with a terminal of its own for each
browser.

The page and its terminal come from textual-serve. ``cli/served_session.py`` is what a session runs;
``foundation/reader_rights.py`` says what its reader may do.
"""
