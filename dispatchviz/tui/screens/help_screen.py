"""The help: what the pane with the focus shows, the signs, and all keys as the live keymap has them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.kinds.kind import SIGNS
from dispatchviz.tui.keymap import GROUPS, QUITS, STEP, Leaving, entries, in_force, key_of
from dispatchviz.tui.layout.pane_layout import (
    CALLS,
    CELL,
    ENGINE,
    GRAPH,
    KEYS,
    NODE,
    OUTPUT,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.tui.session import Update
from dispatchviz.tui.text.key_rows import group_rows
from dispatchviz.tui.text.palette import Palette
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.text_view import TextView

ABOUT = {
    STEPS: (
        "Every step of the program, indented by what it happened within. The highlighted one is where you stand: all "
        "panes show that moment."
    ),
    KEYS: (
        "How the call around this step came to its key: who wins, then a row per set. Read it from top to bottom: "
        "the arguments' sets are united, the thread includes and excludes keys, the operator's mask removes keys whose "
        "cell is a fallthrough, and the highest key that is left wins. Below: why, key by key, and a table of all "
        "keys and sets. While this pane has the focus, the steps forward and back walk through the sets of a call, "
        "one lit at a time. The whole text of the step has the sets as numbers."
    ),
    CELL: (
        "The cell of the operator's table under the winning key: which kernel is in it, by which rule, and the other "
        "sources that a kernel could have come from, in order of precedence."
    ),
    CALLS: (
        "The functions that are running, your own first, then PyTorch's by its names, each with its part in the call. "
        "A click goes to where one began."
    ),
    SOURCE: (
        "The line of your program, the Python that runs now instead of PyTorch's own function, and the operator's "
        "entries in native_functions.yaml and derivatives.yaml."
    ),
    GRAPH: (
        "The backward graph as far as it is built: a row per Node, the newest on top, gradients flow down along the "
        "lines. While backward runs, signs say which Nodes wait, run and are done."
    ),
    THREAD: (
        "What the thread carries after this step: grad mode, inference mode, autocast, the transforms of torch.func, "
        "dispatch modes, the guards that are open and what each excludes and includes, and the key sets that follow."
    ),
    TENSORS: (
        "The tensors that this step is about, then those of your variables: what each is now, its keys, whose memory "
        "it shares, and which Nodes keep it for backward; in a trace recorded with --values also the numbers of small "
        "ones, x.grad among them. A click goes to where it appeared."
    ),
    ENGINE: (
        "Within a backward pass: the Node that runs and which formulas it needs, the ready queues with what decides "
        "there, for how many edges others wait, what came into their input buffers from where, what becomes of .grad. "
        "What the step is not about (the graph task, exec_info_, streams ...) is a line with ▸: Enter goes where it "
        "happened."
    ),
    OUTPUT: "What your program had printed by this step. A click goes to the step that printed a line.",
    STRUCTURED: (
        "The parts of a structured kernel in their order: the meta function checks the arguments and requests the "
        "output, set_output provides it, the impl function computes."
    ),
    TABLE: (
        "The whole dispatch table of the operator: every runtime key with what its cell holds and by which rule; the "
        "cell that the call landed in is marked."
    ),
    NODE: (
        "One Node, whole: the one that the step makes or runs, else the grad_fn of a tensor of the step. Every member "
        "of PyTorch's class with its value at this moment and what it is for. Enter on a row goes where it was set."
    ),
}
"""What each pane shows and how to read it."""

SIGNS_IN_ROW = 4

KEYS_WIDTH = 14
"""Cells for the keys of an action."""

LEGEND = (
    "+ new since the last step, ~ changed, ▶ here, › chosen row, ● marked, ◉ breakpoint, * hit (├ in the scroll bar)"
)


class HelpView(TextView):
    """The help text of a pane."""

    def __init__(self, pane: int, palette: Palette, leaving: Leaving) -> None:
        super().__init__("Help", palette)
        self._pane, self._leaving = pane, leaving

    def text(self) -> list[Line]:
        return help_rows(self._pane, self._leaving)


class HelpScreen(ModalScreen[Update | None]):
    """The help over the stepper; the keys that open it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,question_mark,f1,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = (
        "HelpScreen { align: center middle; } HelpView { width: 100%; max-width: 96; height: 90%; padding: 0 1; }"
    )

    def __init__(self, pane: int, palette: Palette, leaving: Leaving = QUITS) -> None:
        super().__init__()
        self._view = HelpView(pane, palette, leaving)

    def compose(self) -> ComposeResult:
        yield self._view


def help_rows(pane: int, leaving: Leaving = QUITS) -> list[Line]:
    """The text for one pane."""
    return [
        line((ABOUT[pane], "")),
        line(),
        line((LEGEND, "")),
        *_signs(),
        line((f"Shift plays the same step backwards: {_twins()}.", "hint")),
        *_languages(),
        *(row for group in GROUPS for row in group_rows(entries(leaving), group, KEYS_WIDTH)),
        line(),
        line(("Esc or q closes this help.", "dim")),
    ]


def _twins() -> str:
    """``s and S, n and N``: the steps and the same steps backwards."""
    steps = [key for key in in_force().entries if key.group == STEP]
    return ", ".join(f"{step.first} and {back.first}" for step, back in zip(steps[::2], steps[1::2], strict=True))


def _languages() -> list[Line]:
    """What may be typed for a search, a filter, a breakpoint."""
    search, keep, stop = (key_of(f"ask_{what}").first for what in ("search", "filter", "breakpoint"))
    terms = (
        'words, "a phrase", key:CUDA op:add node:Mul tensor:z line:8 file:forum.py event:NodeCreated says:leaf; a step '
        "must have all of them."
    )
    places = (
        "37, line 6, forum.py:6, variable z, node AddBackward0, operator add, torch.add, key CUDA, event NodeCreated; "
        "with if depth > 2 and key == CPU on its event; with ignore 3 the first three stops are passed over."
    )
    return [
        line(),
        line((f"  {f'{search} {keep}':<14}", "keycap"), terms, indent=16),
        line((f"  {stop:<14}", "keycap"), places, indent=16),
    ]


def _signs() -> list[Line]:
    """The signs of the groups of steps, some to a row."""
    pairs = [f"{sign} {name:<14}" for name, sign in SIGNS.items()]
    return [line("".join(pairs[at : at + SIGNS_IN_ROW])) for at in range(0, len(pairs), SIGNS_IN_ROW)]
