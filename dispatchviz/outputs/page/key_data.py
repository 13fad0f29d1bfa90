"""The keys of the page: the actions of the stepper's keymap that it has, with their texts, and some of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.views.keymap import GROUPS, KEYMAP, TARGETS, Key

ACTIONS = (
    *(f"move('{how}')" for how in ("into", "into_back", "over", "over_back", "out", "out_back", "resume")),
    *(f"move('{how}')" for how in ("resume_back", "unfold", "fold")),
    *("app.row(1)", "app.row(-1)", "detail(1)", "detail(-1)"),
    *(f"jump('{where}')" for where in ("first", "last", "caller", "callee", "undo", "redo")),
    *(f"target({name!r}, {forward})" for forward in (True, False) for name in TARGETS.values()),
    *("places", "cross", "app.ask_thing", "toggle_mark", "marks", "ask_breakpoint", "breakpoints"),
    *("ask_step", "ask_search", "search(True)", "search(False)", "ask_filter"),
    *("frames", "engine", "traceback", "then_and_now", "registration", "app.enter", "app.autoplay"),
    *("zoom", "zoom(False)", "app.page(1)", "app.page(-1)", "predict", "present", "copy_link", "help"),
)
"""The actions of the stepper that the page has, besides those that show a pane."""

HELP = {
    "toggle_mark": "set a mark here and name it, or remove it; continue stops at marks, and the link contains them",
    "ask_breakpoint": "breakpoint: continue stops at a line such as 6, or at the steps with these words",
    "app.ask_thing": "ask what made, saved, changed or uses a tensor or Node of this step",
    "then_and_now": "then and now: what older articles say about this step, and what is true today",
    "app.enter": "unfold and go in; in another pane: zoom it, or follow its row",
    "breakpoints": "list the breakpoints and go to their stops",
    "ask_step": "go to a step: 37, +10, 50%",
    "copy_link": "copy a link that opens this page at this step",
    "predict": "predict mode: outcomes stay hidden (?) until you guess; again: off",
    "help": "this help",
    "pane(1)": "the steps; the panes follow the step again",
    "app.row(1)": "the row below",
    "app.row(-1)": "the row above",
    "zoom": "zoom the chosen pane, and back",
    "zoom(False)": "close the dialog; show all panes again",
}
"""The texts of actions that do less here than in the stepper."""

OWN = (
    Key("theme", ("D",), "Page", "dark or light colors"),
    Key("print", ("ctrl+p",), "Page", "print this step and the list of steps"),
    Key("graph('in')", ("plus",), "Backward graph (while it is chosen)", "zoom in"),
    Key("graph('out')", ("minus",), "Backward graph (while it is chosen)", "zoom out"),
    Key("graph('fit')", ("0",), "Backward graph (while it is chosen)", "fit the whole graph"),
    Key("graph('move')", ("up", "down", "left", "right"), "Backward graph (while it is chosen)", "move the picture"),
    Key("graph('fold')", ("enter",), "Backward graph (while it is chosen)", "fold or unfold repeats"),
    Key(
        "graph('modules')",
        ("asterisk",),
        "Backward graph (while it is chosen)",
        "show modules as frames, as boxes, or not at all",
    ),
)
"""The actions that the stepper does not have."""

BROWSER = {
    "right": "ArrowRight",
    "left": "ArrowLeft",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Escape",
    "space": " ",
    "backspace": "Backspace",
    "pagedown": "PageDown",
    "pageup": "PageUp",
    "plus": "+",
    "minus": "-",
    "colon": ":",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "apostrophe": "'",
    "question_mark": "?",
    "f1": "F1",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
}
"""The browser's names of keys, where they differ."""


def key_data(panes: Iterable[int]) -> list[dict[str, object]]:
    """Return the table in the order of the help: action, keys as the browser reports them, keys as they are shown,
    group, text. ``panes`` are the numbers of the panes that the page has.
    """
    table = {key.action: key for key in KEYMAP}
    groups = (*GROUPS, *dict.fromkeys(key.group for key in OWN))
    actions = (*(f"pane({number})" for number in panes), *ACTIONS)
    keys = [*(table[action] for action in actions), *OWN]
    return [_row(key) for group in groups for key in keys if key.group == group]


def _row(key: Key) -> dict[str, object]:
    return {
        "action": key.action,
        "keys": list(_browser_keys(key)),
        "shown": key.shown,
        "group": key.group,
        "help": HELP.get(key.action, key.help),
    }


def _browser_keys(key: Key) -> Iterator[str]:
    for keys in key.keys:
        yield "".join(BROWSER.get(part, part) for part in keys.split())
