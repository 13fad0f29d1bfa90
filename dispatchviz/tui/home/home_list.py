"""What is on the home screen, as a value: entries in groups, the chosen one, the filter, a remark.

Not here: how it looks (``home_rows.py``), what keys do (``home_actions.py``), Textual.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from dispatchviz.foundation.shipped_examples import Example, is_lesson
from dispatchviz.views.text.styled_line import Line, line

PROGRAM, TRACE, QUESTION = "program", "trace", "question"
"""Kinds of entries: what Enter runs, opens, asks."""

START, TRACES, LOOK_UP = "Start here", "Recent traces", "Look up, open"
"""Titles of groups; the others are those of ``examples/README.md``."""


@dataclass(frozen=True)
class Entry:
    """A row that Enter opens."""

    kind: str
    target: str
    """The script, the trace's file, the name of the question."""
    group: str
    name: str
    shows: str
    """What there is to see, in one line; names are in backticks."""
    command: str
    """The command line that does the same."""

    @property
    def words(self) -> str:
        """What a filter looks at."""
        return f"{self.group} {self.name} {self.target} {self.shows}".casefold()


@dataclass(frozen=True)
class Home:
    """The screen at a moment. ``chosen`` is kept when rows come or go: it is the entry, not its place."""

    programs: tuple[Entry, ...] = ()
    traces: tuple[Entry, ...] = ()
    questions: tuple[Entry, ...] = ()
    filter: str = ""
    chosen: tuple[str, str, str] = ("", "", "")
    """Group, kind and target of the entry of the cursor."""
    note: Line | None = None
    """One remark, shown until the next key."""

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Those that the filter lets through."""
        words = self.filter.casefold().split()
        everything = (*self.programs, *self.traces, *self.questions)
        return tuple(entry for entry in everything if all(word in entry.words for word in words))

    @property
    def size(self) -> int:
        """How many entries there are, shown or not."""
        return len(self.programs) + len(self.traces) + len(self.questions)

    @cached_property
    def at(self) -> int:
        """Where the cursor is among those that are shown; at the first one if its own is not there."""
        return next((at for at, entry in enumerate(self.entries) if identity(entry) == self.chosen), 0)

    @property
    def entry(self) -> Entry | None:
        """The one of the cursor; None if nothing is shown."""
        return self.entries[self.at] if self.entries else None

    def goto(self, at: int) -> Home:
        """With the cursor on another entry, as near as there is one."""
        if not self.entries:
            return replace(self, note=None)
        return replace(self, chosen=identity(self.entries[max(0, min(at, len(self.entries) - 1))]), note=None)

    def move(self, by: int) -> Home:
        """Some entries on."""
        return self.goto(self.at + by)

    def to_group(self, direction: int) -> Home:
        """At the first entry of the next group or, backwards, of this one or the one before; round and round."""
        begins = group_begins(self.entries)
        if not begins:
            return self.goto(0)
        if direction > 0:
            return self.goto(next((begin for begin in begins if begin > self.at), 0))
        return self.goto(next((begin for begin in reversed(begins) if begin < self.at), begins[-1]))

    def filtered(self, text: str) -> Home:
        """With another filter."""
        return replace(self, filter=text, note=None)

    def noted(self, text: str, role: str = "hint") -> Home:
        """With a remark; an empty one is none."""
        return replace(self, note=line((f" {text}", role), indent=1) if text else None)


def identity(entry: Entry) -> tuple[str, str, str]:
    """What an entry is known by."""
    return entry.group, entry.kind, entry.target


def group_begins(entries: Iterable[Entry]) -> list[int]:
    """The places at which a group begins."""
    groups = [entry.group for entry in entries]
    return [at for at, group in enumerate(groups) if at == 0 or groups[at - 1] != group]


def program_entries(examples: Iterable[Example]) -> tuple[Entry, ...]:
    """The programs that ship; the founding one, which is the first, stands apart."""
    return tuple(_program(example, START if at == 0 else example.group) for at, example in enumerate(examples))


def _program(example: Example, group: str) -> Entry:
    script = example.script
    name = example.name.rpartition("/")[2]
    command = f"dispatchviz lesson {name}" if is_lesson(example.path) else f"dispatchviz run {script}"
    return Entry(PROGRAM, script, group, name, example.shows, command)


def _question(name: str, behind: str, shows: str) -> Entry:
    return Entry(QUESTION, name, LOOK_UP, name, shows, f"dispatchviz {name} {behind}")


QUESTIONS = (
    _question("table", "OP [KEY...]", "which kernel an operator has under each key, and why"),
    _question("why", "OP KEY", "why a key has its kernel, and what would change it"),
    _question(
        "keys", "[NAME or INTEGER...]", "all dispatch keys in order, one key, or a raw key set such as `0x1000010002`"
    ),
    _question("codegen", "OP", "the generated code of an operator, and its files in PyTorch"),
    _question("run", "SCRIPT-or-TRACE", "run a program of yours, or open a saved trace"),
)
"""What can be asked without a program that ships; ``home_questions.py`` asks it."""
