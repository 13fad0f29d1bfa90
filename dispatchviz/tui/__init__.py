"""The stepper: a trace on a terminal screen (Textual).

``cursor`` holds where the reader stands, the ``*_pane`` modules turn that into lines, ``app`` shows them.
Importing this package imports no Textual; ``dispatchviz.tui.app`` does.
"""
