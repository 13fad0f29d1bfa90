"""Every key of the screen of two runs, once: bindings, help, footer and palette are made from this table.

Keys that the stepper has, too, do the same in both. What the actions do is in ``comparison_actions.py``.
"""

from __future__ import annotations

from dispatchviz.views.keymap import Key

COMPARISON_KEYMAP = (
    Key("stop(1)", ("d",), "Where they part", "the next place where the runs part", "next difference"),
    Key("stop(-1)", ("D",), "Where they part", "the place before where the runs part"),
    Key("move(1)", ("down", "n"), "Rows", "the row below"),
    Key("move(-1)", ("up", "N"), "Rows", "the row above"),
    Key("unfold", ("right",), "Rows", "unfold this row; unfolded, go in", "unfold"),
    Key("fold", ("left",), "Rows", "fold this row; if it is folded, back to the row around it"),
    Key("detail(1)", ("plus",), "Rows", "more detail: key sets, cells, kernels, guards; then every step"),
    Key("detail(-1)", ("minus",), "Rows", "less detail: calls and Nodes; then lines of the program alone"),
    Key("page(1)", ("pagedown",), "Rows", "a page down"),
    Key("page(-1)", ("pageup",), "Rows", "a page up"),
    Key("goto(0)", ("g", "home"), "Rows", "the first row"),
    Key("goto(1000000000)", ("G", "end"), "Rows", "the last row"),
    Key("side", ("tab",), "Steps", "the other side: the run that Enter opens", "other side"),
    Key("open", ("enter", "s"), "Steps", "open the stepper at this row, in the run of the side; q comes back", "step"),
    Key("whole", ("w",), "Steps", "the whole text: where the runs part and what follows from it", "whole text"),
    Key("copy", ("y",), "Share", "copy the command line that compares the same"),
    *(Key(f"choose({n - 1})", (str(n),), "Comparisons", f"comparison {n} of several") for n in range(1, 5)),
    Key("help", ("question_mark", "f1"), "Help", "this help", "help"),
    Key("app.command_palette", ("ctrl+p",), "Help", "search all actions by name"),
    Key("app.suspend_process", ("ctrl+z",), "Help", "back to the shell; its fg comes back here"),
    Key("app.quit", ("q",), "Help", "back to where the comparison was asked for", "back"),
)

COMPARISON_GROUPS = tuple(dict.fromkeys(key.group for key in COMPARISON_KEYMAP))
