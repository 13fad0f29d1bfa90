"""The table of all keys of the stepper. The bindings, help, footer, palette and the hints in texts come from it.

Shift takes the same step backwards. A key that some terminals never deliver is never the only key of an action.

A ``Keymap`` is this table with other keys for some actions. One keymap is active in a process and is chosen when the
stepper opens. It is global because pure functions everywhere create hints, and would all need it as an argument.

Elsewhere: the actions (``actions.py``), the other keymaps (``terminal/keymaps.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.foundation.reader_rights import permits
from dispatchviz.views.text.styled_line import Line, Span, line

FOOTER_KEYS = 7
"""The maximum number of keys in a footer, so that it is read."""


class Key(Struct, frozen=True):
    """An action and the keys that start it."""

    action: str
    """The name and arguments: ``move('into')``. Actions that are not in ``actions.py`` are Textual actions of the
    stepper's screen, or with ``app.`` of the application.
    """
    keys: tuple[str, ...]
    """The keys by Textual's names, the one to teach first."""
    group: str
    help: str
    """The description in the help and the palette."""
    footer: str = ""
    """The label in the footer, one word or two; empty if it is not in the footer."""

    @property
    def shown(self) -> str:
        """The keys as a person reads them: ``s →``."""
        return " ".join(map(shown_key, self.keys))

    @property
    def first(self) -> str:
        """The key to teach."""
        return shown_key(self.keys[0])


class Leaving(NamedTuple):
    """The place that the quit key leads to: the screen that opened the stepper."""

    footer: str
    help: str
    said: str
    """The same text, after the name of the key."""


QUITS = Leaving("quit", "quit without confirmation", "quits")
GOES_HOME = Leaving("home", "back to the home screen", "goes back to the home screen")
GOES_BACK = Leaving("back", "back to the comparison", "goes back to the comparison")
GOES_TO_LANES = Leaving("back", "back to the lanes", "goes back to the lanes")

QUIT = "app.quit"


NEXT, PREVIOUS = "right_square_bracket", "left_square_bracket"
"""The first keys of two-key sequences; the second key chooses the target."""

TARGETS = {
    "n": "Node",
    "b": "backward Node",
    "r": "redispatch",
    "g": "guard",
    "a": "accumulation",
    "e": "error or warning",
    "l": "line",
    "t": "iteration",
    "u": "call of your function",
}
"""The target of each second key (``cursor/targets.py``)."""

SHOWN = {
    NEXT: "]",
    PREVIOUS: "[",
    "right": "→",
    "left": "←",
    "down": "↓",
    "up": "↑",
    "home": "Home",
    "end": "End",
    "plus": "+",
    "minus": "-",
    "colon": ":",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "question_mark": "?",
    "apostrophe": "'",
    "f1": "F1",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "backspace": "Backspace",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "semicolon": ";",
    "asterisk": "*",
    "delete": "Del",
}

STEP = "Step"
"""The group of the step moves, each followed by the same move backwards."""

TEACH = "Teach"
"""The group of actions for a classroom."""


def shown_key(key: str) -> str:
    """The name of a key or a key sequence for a reader: ``→``, ``]n``, ``Ctrl+P``."""
    return "".join(_shown(part) for part in key.split())


def _shown(key: str) -> str:
    head, plus, last = key.rpartition("ctrl+")
    return SHOWN.get(key) or (f"{head}Ctrl+{last.upper()}" if plus else key)


KEYMAP = (
    Key("move('into')", ("s",), STEP, "next step, into the calls that this one makes", "step"),
    Key("move('into_back')", ("S",), STEP, "previous step", "back"),
    Key("move('over')", ("n",), STEP, "over: skip everything within this step"),
    Key("move('over_back')", ("N",), STEP, "back over: to the previous step on this level"),
    Key("move('out')", ("r",), STEP, "out: to the step after the enclosing call"),
    Key("move('out_back')", ("R",), STEP, "back out: to the start of the enclosing call"),
    Key(
        "move('resume')",
        ("c",),
        STEP,
        "continue to the next line, mark or error, or to the next breakpoint",
        "next line",
    ),
    Key("move('resume_back')", ("C",), STEP, "continue backwards to the previous one"),
    Key("move('unfold')", ("right",), "Rows", "unfold this row and go in", "unfold"),
    Key("move('fold')", ("left",), "Rows", "fold this row; if it is folded, go to the enclosing row"),
    Key("app.row(1)", ("down",), "Rows", "the row below; in other panes, the next row with a link"),
    Key("app.row(-1)", ("up",), "Rows", "the row above; in other panes, the previous row with a link"),
    Key("detail(1)", ("plus",), "Rows", "more detail: key sets, table entries, guards; then every step"),
    Key("detail(-1)", ("minus",), "Rows", "less detail: calls and Nodes; then only program lines"),
    Key("jump('first')", ("g", "home"), "Go to", "first step"),
    Key("jump('last')", ("G", "end"), "Go to", "last step"),
    Key("ask_step", ("colon",), "Go to", "go to a step: a number, +10, 50%, line 6, iteration 500"),
    Key("jump('caller')", ("u",), "Go to", "caller: the enclosing call"),
    Key("jump('callee')", ("d",), "Go to", "callee: back to where you pressed caller"),
    Key("jump('undo')", ("backspace",), "Go to", "undo the last jump"),
    Key("jump('redo')", ("e",), "Go to", "redo the jump that you undid"),
    Key("places", ("h",), "Go to", "history: list the places you visited, and go to one"),
    Key("cross", ("x",), "Go to", "cross: from a Node's run to its forward call, and back"),
    Key(
        "app.ask_thing",
        ("i",),
        "Go to",
        "inspect a tensor or Node: who made, saved, changed and uses it",
    ),
    *(Key(f"target({name!r}, True)", (f"{NEXT} {key}",), "Next", f"the next {name}") for key, name in TARGETS.items()),
    *(
        Key(f"target({name!r}, False)", (f"{PREVIOUS} {key}",), "Previous", f"the previous {name}")
        for key, name in TARGETS.items()
    ),
    Key("toggle_mark", ("m",), "Go to", "set or remove a mark here; continue stops at marks"),
    Key("marks", ("apostrophe",), "Go to", "list the marks and go to one"),
    Key("ask_breakpoint", ("b",), "Go to", "set a breakpoint: on a line, a variable, a Node, an operator ..."),
    Key("breakpoints", ("B",), "Go to", "list the breakpoints and their stops, or remove some"),
    Key("ask_search", ("slash",), "Search", "search the steps", "search"),
    Key("search(True)", ("full_stop",), "Search", "next hit"),
    Key("search(False)", ("comma",), "Search", "previous hit"),
    Key("ask_filter", ("f",), "Search", "filter: show only steps that contain these words"),
    Key("pane(1)", ("1",), "Panes", "the steps; the other panes follow the step again"),
    Key("pane(2)", ("2",), "Panes", "the key set, and the key that was selected"),
    Key("pane(3)", ("3",), "Panes", "the dispatch table entry, and why it holds that kernel"),
    Key("pane(4)", ("4",), "Panes", "the call stack in PyTorch's names"),
    Key("pane(5)", ("5",), "Panes", "the source: your line, and the Python code that runs"),
    Key("pane(6)", ("6",), "Panes", "the backward graph"),
    Key("pane(7)", ("7",), "Panes", "the thread state: guards, grad mode, inference mode, autocast"),
    Key("pane(8)", ("8",), "Panes", "the tensors: shape, keys, version, memory, who saved them"),
    Key("pane(9)", ("9",), "Panes", "the autograd engine: ready queue, dependencies, input buffers"),
    Key("pane(10)", ("0",), "Panes", "the output of the program so far"),
    Key("pane(11)", ("K",), "Panes", "the structured kernel: meta, set_output, impl"),
    Key("frames", ("A",), "Panes", "cycle the call stack: folded by role, complete, short"),
    Key("engine", ("E",), "Panes", "unfold all sections of the engine pane, or only the current ones"),
    Key("pane(12)", ("T",), "Panes", "the whole dispatch table of the operator"),
    Key("pane(13)", ("O",), "Panes", "all members of the Node: numbers, edges, saved variables, hooks"),
    Key("pane(14)", ("F",), "Panes", "the graph that torch.compile captured, and the keys that Python picked"),
    Key("pane(15)", ("M",), "Panes", "the memory of saved tensors: bytes, from when to when, the peak"),
    Key("sideways(1)", ("greater_than_sign",), "Panes", "scroll this pane to the right, if rows are cut"),
    Key("sideways(-1)", ("less_than_sign",), "Panes", "scroll this pane to the left"),
    Key("keep_panes", ("L",), "Panes", "always show the chosen panes at steps of this kind, or stop that"),
    Key("whole", ("w",), "Panes", "the full text of this step: its sentence, error message and rule"),
    Key("traceback", ("t",), "Panes", "Python's traceback of an error, with PyTorch's full message"),
    Key("glossary", ("V",), "Panes", "vocabulary: the terms of this step explained"),
    Key("codegen", ("v",), "Panes", "the generated code of this step's operator"),
    Key("then_and_now", ("Y",), "Panes", "then and now: what older articles say here, what is true today"),
    Key("registration", ("H",), "Panes", "how the table of this step's operator was filled, step by step"),
    Key("app.focus_next", ("tab",), "Panes", "next pane"),
    Key("app.focus_previous", ("shift+tab",), "Panes", "previous pane"),
    Key(
        "app.enter",
        ("enter",),
        "Panes",
        "unfold and go in; in other panes, follow the row or show it alone",
    ),
    Key("zoom", ("z",), "Panes", "zoom: show only this pane, and back"),
    Key("app.page(1)", ("pagedown",), "Panes", "scroll this pane down; in the steps, go down a page"),
    Key("app.page(-1)", ("pageup",), "Panes", "scroll this pane up; in the steps, go up a page"),
    Key("zoom(False)", ("escape",), "Panes", "leave a pane's row; show all panes again"),
    Key("predict", ("p",), TEACH, "predict: guess each outcome before it is shown; again: your guesses"),
    Key("present", ("P",), TEACH, "presenter mode: two panes, wide spacing; PgDn and PgUp step; Esc ends"),
    Key("app.autoplay", ("space",), TEACH, "play a row every four seconds: + faster, - slower, other keys stop"),
    Key("what_if", ("W",), "Compare", "what if: change this line, run again and compare"),
    Key("copy_link", ("y",), "Share", "copy the command that opens the stepper at this step"),
    Key("open_picture", ("o",), "Share", "open a picture of the backward graph at this step in the browser"),
    Key("help", ("question_mark", "f1"), "Help", "this help, and a description of the pane", "help"),
    Key("app.command_palette", ("ctrl+p",), "Help", "search all actions by name"),
    Key("app.suspend_process", ("ctrl+z",), "Help", "suspend; fg in the shell resumes"),
    Key(QUIT, ("q",), "Help", QUITS.help, QUITS.footer),
)


class Keymap:
    """The table with other keys for some actions; ``changes`` has all keys of each.

    If it takes an action's last key, that action moves to a sequence: the key ``behind``, then the old key. So every
    action keeps a key, including those that are added to the table later.
    """

    def __init__(self, name: str, changes: Mapping[str, tuple[str, ...]], behind: str = "") -> None:
        self.name, self.changes, self.behind = name, changes, behind
        taken = {part for keys in changes.values() for key in keys for part in (key, key.partition(" ")[0])}
        self.entries = tuple(_rekeyed(entry, changes, taken, behind) for entry in KEYMAP)
        """The entries of this keymap."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """Keys that wait for a second one."""
        return prefixes({key for entry in self.entries for key in entry.keys})

    @cached_property
    def by_action(self) -> Mapping[str, Key]:
        """The entry of each action."""
        return {entry.action: entry for entry in self.entries}


def _rekeyed(entry: Key, changes: Mapping[str, tuple[str, ...]], taken: set[str], behind: str) -> Key:
    if entry.action in changes:
        return replace(entry, keys=changes[entry.action])
    left = tuple(key for key in entry.keys if key not in taken)
    return replace(entry, keys=left or (f"{behind} {entry.keys[0]}",))


def prefixes(keys: set[str]) -> frozenset[str]:
    """The first keys of sequences, which wait for a second one."""
    return frozenset(key.partition(" ")[0] for key in keys if " " in key)


DEFAULT = Keymap("default", {})


class _Chosen:
    keymap: Keymap | None = None


def use(keymap: Keymap | None) -> None:
    """Make a keymap the active one. None restores the default, which a later choice may replace."""
    _Chosen.keymap = keymap


def is_chosen() -> bool:
    """Return whether a keymap was chosen."""
    return _Chosen.keymap is not None


def in_force() -> Keymap:
    """The active keymap, which handles the keys and appears in hints."""
    return _Chosen.keymap or DEFAULT


def entries(leaving: Leaving = QUITS) -> tuple[Key, ...]:
    """The entries of the active keymap that the reader may use, with the label of the quit key."""
    own_texts = {QUIT: {"help": leaving.help, "footer": leaving.footer}}
    allowed = (entry for entry in in_force().entries if permits(entry.action))
    return tuple(replace(entry, **own_texts.get(entry.action, {})) for entry in allowed)


GROUPS = tuple(dict.fromkeys(key.group for key in KEYMAP))


def pane_key(number: int) -> str:
    """The key that shows a pane; empty for a list without a number."""
    return key_of(f"pane({number})").first if number else ""


def key_of(action: str) -> Key:
    """The entry of an action in the active keymap. Raise KeyError if there is none."""
    return in_force().by_action[action]


KEYS = 17
"""The width of the key column in a help, in cells."""


def footer(keymap: Iterable[Key], width: int) -> Line:
    """The most important keys, as many as fit. The last two are always help and quit."""
    parts = [_keycap(key) for key in [key for key in keymap if key.footer][:FOOTER_KEYS]]
    while len(parts) > 2 and line(" ", *(span for part in parts for span in part)).width > width:
        del parts[-3]
    return line(" ", *(span for part in parts for span in part))


def _keycap(key: Key) -> tuple[Span, ...]:
    return (key.first, "keycap"), (f" {key.footer}   ", "")


def group_rows(keymap: Iterable[Key], group: str, width: int = KEYS) -> list[Line]:
    """Yield a group of keys under its title: the keys in a column of ``width`` cells, and their descriptions."""
    keys = [key for key in keymap if key.group == group]
    rows = (line((f"  {key.shown:<{width}}", "keycap"), (key.help, ""), indent=width + 2) for key in keys)
    return [line(), line((group, "title")), *rows]
