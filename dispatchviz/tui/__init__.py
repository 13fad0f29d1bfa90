"""The stepper: a trace on a terminal screen (Textual).

A key runs an action (``keymap``, ``actions``): a function of the ``session`` that returns a new ``cursor``. ``panes``
and ``bars`` turn a cursor into lines of text, ``layout`` a size into boxes; ``widgets`` and ``screens`` paint them.
Importing this package imports no Textual; ``dispatchviz.tui.app`` does.
"""
