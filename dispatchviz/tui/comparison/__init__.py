"""The screen that shows two runs side by side, with their rows aligned, the differences and their reasons.

``two_runs.py`` has the compared runs, ``comparison_state.py`` the state of the screen, as values.
``comparison_rows.py`` makes its rows, ``comparison_actions.py`` has the actions of keys. ``comparison_app.py`` is the
Textual application, whose result is the reader's choice.
"""
