"""The home screen: programs that ship with the package, stored traces, and look-ups, each one key away.

``home_list.py`` has its contents as a value, ``home_rows.py`` makes its rows, ``home_actions.py`` has the actions of
keys. ``home_app.py`` is the Textual application. Its result is the reader's choice, which the caller shows before it
opens the home screen again.
"""
