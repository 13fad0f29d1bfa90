"""The stepper's questions that are answered by typing: a step, a filter, a search, a mark, a breakpoint."""

from __future__ import annotations

import re

from msgspec.structs import replace

from dispatchviz.explain.outline.places import iteration_named, line_named
from dispatchviz.explain.sentences.statement import numbers_of_steps, part_of
from dispatchviz.tui.commands.move_notes import nothing_has
from dispatchviz.tui.commands.moves import goto
from dispatchviz.tui.commands.searching import counted, nearest, next_hit
from dispatchviz.tui.commands.stopping import stops_note, toggle
from dispatchviz.tui.questions.question import Question
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.step_search import Search
from dispatchviz.views.cursor.typed_text import repeated, whole_number
from dispatchviz.views.keymap import key_of
from dispatchviz.views.replies import ALL_STAY, ALL_STEPS, NO_BREAKPOINTS, UNMARKED, filtered, marked
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


class StepQuestion(Question):
    """The question for a step to go to."""

    label = "Step"

    @property
    def hint(self) -> str:
        return f"a step from {numbers_of_steps(len(self.session.trace))}, +10, 50%, line 6, iteration 500"

    def answered(self, text: str | None) -> Update:
        if not text:
            return Update(self.session.cursor)
        found = place_named(text, self.session.cursor)
        if isinstance(found, int):
            return goto(self.session, found)
        return Update(self.session.cursor, line((f" {found}", "warning")))


def place_named(text: str, cursor: Cursor) -> int | str:
    """Return the step that ``37``, ``line 6`` or ``iteration 500`` names, or the reason why it names none."""
    if (named := PLACES.fullmatch(text.strip())) is not None and cursor.outline is not None:
        find = line_named if named["what"] == "line" else iteration_named
        return find(cursor.outline, cursor.at, whole_number(named["number"].replace(",", "")))
    step = step_named(text, cursor)
    return f"{repeated(text)} is not a step. Write 37, +10, -10, 50%, line 6 or iteration 500" if step is None else step


def step_named(text: str, cursor: Cursor) -> int | None:
    """Return the step that ``37``, ``+10``, ``-10`` or ``50%`` names; None if it names none."""
    named = NAMED.fullmatch(text.replace(" ", "").replace(",", ""))
    if named is None or (named["sign"] and named["percent"]):
        return None
    number = whole_number(named["digits"])
    if named["percent"]:
        return cursor.last_step * number // 100
    return {"": number, "+": cursor.at + number, "-": cursor.at - number}[named["sign"]]


PLACES = re.compile(r"(?P<what>line|iteration|turn)\s*(?P<number>[0-9][0-9,]*)")

NAMED = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]+)(?P<percent>%?)")
"""The pattern of a step. It accepts only ASCII digits, while Python's ``int`` takes digits of all scripts."""


class FilterQuestion(Question):
    """The question for a filter; an empty answer shows all steps again."""

    label = "Show only"

    @property
    def hint(self) -> str:
        return "words, key: op: node: tensor: line: file: event: says:  (empty: all)"

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        if not text.strip():
            return Update(cursor.filtered(None), line((ALL_STEPS, "hint")))
        search = Search(cursor.trace, self.session.search.end)
        search.find(text, cursor.at)
        return _filtered(cursor, search)


def _filtered(cursor: Cursor, search: Search) -> Update:
    """Set the filter after all matching steps are known. Until then, show the progress."""
    if search.go_on():
        note = f" Searching for all steps with {repeated(search.query)}: {search.percent} %"
        return Update(cursor, line((note, "hint")), goes_on=lambda: _filtered(cursor, search))
    hits = search.hits()
    if not hits:
        stays = ALL_STAY if not cursor.filter_text else f"the filter is still {cursor.filter_text}"
        return Update(
            cursor, line((f" {nothing_has(cursor.trace, search.query, search.is_limited)}: {stays}", "warning"))
        )
    note = filtered(part_of(len(hits), len(cursor.trace)), repeated(search.query))
    return Update(cursor.filtered(hits, search.query.strip()), line((note, "hint")))


class SearchQuestion(Question):
    """The question for a search. It goes to the first hit while the query is typed; Esc goes back."""

    label = "Search"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._origin, self._query = session.cursor, session.search.query

    @property
    def hint(self) -> str:
        return 'words, "a phrase", key: op: node: tensor: line: file: event: says:'

    def typed(self, text: str) -> Update:
        self.session.search.find(text, self._origin.at)
        return nearest(self.session, self._origin)

    def answered(self, text: str | None) -> Update:
        search = self.session.search
        if text is None:
            search.find(self._query, self._origin.at)
            return Update(self._origin)
        if not text.strip():
            search.find("")
            return Update(self._origin, line((" Search cleared", "hint")))
        if search.matches(self.session.cursor.at):
            keys = f"{key_of('search(True)').first} next  {key_of('search(False)').first} previous"
            return counted(self.session, self.session.cursor, keys)
        return next_hit(self.session, self._origin)


class MarkQuestion(Question):
    """The question that marks the step of the cursor, then asks for a name."""

    label = "Name"

    @property
    def hint(self) -> str:
        return "optional, for this mark"

    def opened(self) -> Update:
        cursor = self.session.cursor.toggle_mark()
        self.session.marks.set(cursor.at, "")
        return Update(cursor)

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        failure = self.session.marks.set(cursor.at, (text or "").strip())
        return Update(cursor, mark_note(marked(), failure))


def mark_note(text: str, failure: str) -> Line:
    """The note on a mark, with the error if it could not be saved."""
    return line((text, "hint"), (f"  ({failure})" if failure else "", "warning"))


def toggle_mark(session: Session) -> Update | MarkQuestion:
    """Remove the mark of this step. Without a mark, return the question that sets one."""
    cursor = session.cursor
    if cursor.at not in cursor.marks:
        return MarkQuestion(session)
    failure = session.marks.remove(cursor.at)
    return Update(cursor.toggle_mark(), mark_note(UNMARKED, failure))


class BreakpointQuestion(Question):
    """The question for a breakpoint. The same answer removes it, an empty answer removes all."""

    label = "Stop at"

    @property
    def hint(self) -> str:
        return "line 6, z, AddBackward0, torch.add, CUDA [if depth > 2] [ignore 3]"

    def opened(self) -> Update:
        now = self.session.cursor.breakpoints
        again = "enter one again to remove it, or nothing to remove all"
        note = line((stops_note(now), "hint"), (f"  {again}", "dim")) if now else None
        return Update(self.session.cursor, note)

    def answered(self, text: str | None) -> Update:
        cursor = self.session.cursor
        if text is None:
            return Update(cursor)
        if not text.strip():
            return Update(replace(cursor, breakpoints=()), line((NO_BREAKPOINTS, "hint")))
        return toggle(cursor, text)
