"""The screen that shows two runs side by side: their rows aligned, where they part and why.

``two_runs.py`` is what is compared, ``comparison_state.py`` the screen at a moment, as values; ``comparison_rows.py``
makes rows of that, ``comparison_actions.py`` says what keys do. ``comparison_app.py`` is the Textual application, which
ends with what its reader has chosen to see.
"""
