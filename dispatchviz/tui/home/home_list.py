"""The contents of the home screen as a value: entries in groups, the chosen one, the filter, a note.

Elsewhere: the text of rows (``home_rows.py``), the actions of keys (``home_actions.py``), Textual.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.foundation.shipped_examples import Example, is_lesson
from dispatchviz.views.text.styled_line import Line, line

PROGRAM, TRACE, QUESTION = "program", "trace", "question"
"""The kinds of entries: Enter runs a program, opens a trace or asks a question."""

START, TRACES, LOOK_UP = "Start here", "Recent traces", "Look up, open"
"""The titles of groups; the others are those of ``examples/README.md``."""


class Entry(Struct, frozen=True):
    """A row that Enter opens."""

    kind: str
    target: str
    """The script, the trace's file, the name of the question."""
    group: str
    name: str
    shows: str
    """The description in one line; names are in backticks."""
    command: str
    """The command that does the same."""

    @property
    def words(self) -> str:
        """The text that a filter searches."""
        return f"{self.group} {self.name} {self.target} {self.shows}".casefold()


class Home(Struct, frozen=True, dict=True):
    """The state of the screen. ``chosen`` identifies the entry, not its place, so it survives when rows come or go."""

    programs: tuple[Entry, ...] = ()
    traces: tuple[Entry, ...] = ()
    questions: tuple[Entry, ...] = ()
    filter: str = ""
    chosen: tuple[str, str, str] = ("", "", "")
    """The group, kind and target of the chosen entry."""
    note: Line | None = None
    """A note, shown until the next key."""

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entries that the filter shows."""
        words = self.filter.casefold().split()
        everything = (*self.programs, *self.traces, *self.questions)
        return tuple(entry for entry in everything if all(word in entry.words for word in words))

    @property
    def size(self) -> int:
        """The number of all entries, shown or not."""
        return len(self.programs) + len(self.traces) + len(self.questions)

    @cached_property
    def at(self) -> int:
        """The index of the chosen entry among the visible ones; 0 if it is not visible."""
        return next((at for at, entry in enumerate(self.entries) if identity(entry) == self.chosen), 0)

    @property
    def entry(self) -> Entry | None:
        """The chosen entry; None if no entry is visible."""
        return self.entries[self.at] if self.entries else None

    def goto(self, at: int) -> Home:
        """Choose an entry by its index, or the nearest one that exists."""
        if not self.entries:
            return replace(self, note=None)
        return replace(self, chosen=identity(self.entries[max(0, min(at, len(self.entries) - 1))]), note=None)

    def move(self, by: int) -> Home:
        """Move the cursor by some entries."""
        return self.goto(self.at + by)

    def to_group(self, direction: int) -> Home:
        """Go to the first entry of the next group, or backwards, to the first entry of this group or the previous one.
        Both wrap around.
        """
        begins = group_begins(self.entries)
        if not begins:
            return self.goto(0)
        if direction > 0:
            return self.goto(next((begin for begin in begins if begin > self.at), 0))
        return self.goto(next((begin for begin in reversed(begins) if begin < self.at), begins[-1]))

    def filtered(self, text: str) -> Home:
        """Set the filter."""
        return replace(self, filter=text, note=None)

    def noted(self, text: str, role: str = "hint") -> Home:
        """Set a note; an empty text removes it."""
        return replace(self, note=line((f" {text}", role), indent=1) if text else None)


def identity(entry: Entry) -> tuple[str, str, str]:
    """The identity of an entry."""
    return entry.group, entry.kind, entry.target


def group_begins(entries: Iterable[Entry]) -> list[int]:
    """The indices at which groups begin."""
    groups = [entry.group for entry in entries]
    return [at for at, group in enumerate(groups) if at == 0 or groups[at - 1] != group]


def program_entries(examples: Iterable[Example]) -> tuple[Entry, ...]:
    """The entries of the programs that ship with the package. The first one has its own group."""
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
"""The questions that need no shipped program; ``home_questions.py`` asks them."""
