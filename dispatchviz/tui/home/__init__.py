"""The home screen: programs that ship with the package, traces that are kept, look-ups, each one key away.

``home_list.py`` is what is on it, as a value; ``home_rows.py`` makes rows of that, ``home_actions.py`` says what keys
do. ``home_app.py`` is the Textual application, which ends with what its reader has chosen to see: who opened it shows
that and opens it again.
"""
