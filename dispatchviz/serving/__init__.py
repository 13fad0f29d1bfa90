"""Screens for browsers: a server with a token in its address, a process with a terminal of its own for each browser.

The page and the terminal in it are those of textual-serve. What a session shows is in ``cli/served_session.py``, what
its reader may do in ``foundation/reader_rights.py``.
"""
