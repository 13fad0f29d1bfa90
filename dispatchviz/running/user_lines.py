"""The user's line for each step, and the place from which the line's function was called.

A note holds the user's frames, outermost first, each as a code object and an instruction. A line that the program
reaches becomes an event at once. A line to which it comes back after a return becomes an event before the next event,
if there is one.

Not here: who emits the notes (``program_recorder.py``), finding frames (``call_sites.py``).
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import reads_note
from dispatchviz.core.record.event_builder import EventBuilder
from dispatchviz.running.call_sites import line_of, shown_file, source_of, statement_starts

if TYPE_CHECKING:
    from dispatchviz.core.bindings.binding import Binding, Plan
    from dispatchviz.core.record.note_types import Arrival, CodeLocations

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")
_PARTS_OF_STATEMENTS = (*_COMPREHENSIONS, "<genexpr>", "<lambda>")
"""Code that is part of its statement, and no function of its own, if it runs within the statement."""


class Location(NamedTuple):
    """File, function and line of one of the user's frames."""

    file: str
    function: str
    line: int


class ProgramEventBuilder(EventBuilder):
    """The builder that puts the program's line before the events that happen on it."""

    def __init__(self) -> None:
        super().__init__()
        self.announced: dict[str, str] = {}
        """A mapping from the file name in the code object to the name that the trace shows, for scripts that announce
        their lines.
        """
        self.marks: list[tuple[int, bool]] = []
        """The numbers of the events at which selected iterations begin (True) or end (False)."""
        self._stacks: dict[int, list[Location]] = {}
        """The user's frames on each thread, outermost first."""
        self._last_line: dict[int, int] = {}
        """The last SourceLine directly within each open event."""
        self._last_stack: list[Location] = []
        """The stack of the last SourceLine that was appended, and of its callers."""
        self._last_seqs: list[int] = []
        """The SourceLines of that stack."""
        self._last_call: tuple[CodeType | None, int, int] = None, -1, 0
        """Code, instruction and depth of the last frame that entered a binding and does not announce its lines."""
        self._shallowest: dict[int, int] = {}
        """The smallest number of frames on each thread since its last line was appended."""
        self._begun: set[Location] = set()
        """The lines that were announced."""
        self._locations: dict[tuple[int, int], tuple[CodeType, Location]] = {}
        """The places of instructions, by the ``id`` of their code, which is kept alive."""
        self._lines: dict[tuple[int, int], tuple[CodeType, Location]] = {}
        """The lines that code announced."""
        self._last_read: tuple[CodeLocations, list[Location]] = (), []
        """The stack that was read last: a line in a loop notes the same object again and again."""

    def needed(self) -> set[int]:
        """Return the events that are still needed: also the last line in each open event, and the lines from which it
        was called.
        """
        found = super().needed()
        for seq in tuple(found):
            line: int | None = self._last_line.get(seq, seq)
            while line is not None:
                found.add(line)
                event = self.events[line]
                line = event.caller if isinstance(event, ev.SourceLine) else None
        return found

    def forget_written(self) -> set[int]:
        """Forget the last lines of events that are over, too."""
        needed = super().forget_written()
        self._last_line = {seq: line for seq, line in self._last_line.items() if seq in needed}
        return needed

    # -- notes --------------------------------------------------------------------------------------------------------

    @reads_note
    def line_reached(self, code: CodeType, line: int) -> None:
        """Append a line because the innermost frame begins a statement."""
        if self.moved and self._shallowest.get(self.thread, 0) < len(self._stack):
            self._line_events(again=False)  # the frame of a generator, which continues where it waited
        location = self._announced_line(code, line)
        self._begun.add(location)
        self._stack[-1:] = [location]
        self._line_events(again=True)

    @reads_note
    def frame_entered(self, locations: CodeLocations, line: int) -> None:
        """Append a line because another frame than before begins a statement."""
        self._statement_begins(locations, line, begins=False)

    @reads_note
    def call_begins(self, locations: CodeLocations, line: int) -> None:
        """Append a line because the frame of a called function begins its first statement."""
        self._statement_begins(locations, line, begins=True)

    def _statement_begins(self, locations: CodeLocations, line: int, begins: bool) -> None:
        stack = self._stacks[self.thread] = self._read_locations(locations)
        stack[-1] = stack[-1]._replace(line=line)
        self._begun.add(stack[-1])
        self._line_events(again=True, begins=begins)

    @reads_note
    def frame_resumed(self, locations: CodeLocations) -> None:
        """Note that another frame resumes, or another part of a statement. It becomes an event if something happens
        there.
        """
        stack = self._stacks[self.thread] = self._read_locations(locations)
        self._shallowest[self.thread] = min(len(stack), self._shallowest.get(self.thread, 0))
        self.moved = True

    @reads_note
    def called_from_line(self, code: CodeType, instruction: int) -> None:
        """Note that a binding is about to be entered from the frame that announced its line last."""
        location, stack = self._location(code, instruction), self._stack
        if stack and (location.file, location.line) == (stack[-1].file, stack[-1].line):
            return
        stack[-1:] = [location]
        self.moved = True

    @reads_note
    def called_from_frame(self, locations: CodeLocations) -> None:
        """Append the line of a binding that is about to be entered from code that does not announce its lines. Each
        iteration of a loop counts.
        """
        code, instruction = locations[-1]
        last_code, last, depth = self._last_call
        again = last_code is code and instruction <= last and len(locations) == depth
        self._last_call = code, instruction, len(locations)
        self._stacks[self.thread] = self._read_locations(locations)
        self._line_events(again=again)

    @reads_note
    def iterations_selected(self, inside: bool) -> None:
        """Note that selected iterations begin or end."""
        self.marks.append((len(self.events), inside))

    @reads_note
    def part_begins(self) -> None:
        """Forget the lines so far, because the program may have run others since then."""
        self._stacks[self.thread] = []
        self._begun.clear()
        self._last_stack, self._last_seqs, self._last_call = [], [], (None, -1, 0)
        self._last_line.clear()
        if self.open is not None and type(self.events[self.open]) is ev.SourceLine:
            self.open = self.events[self.open].parent
        self.moved = False

    @reads_note
    def binding_called_again(self, how: tuple[Arrival, Binding, Plan, tuple[Any, ...]]) -> None:
        """Read both notes: an instruction calls the same binding with the same tensors again."""
        (arrival, *where), binding, plan, arguments = how
        getattr(self, arrival)(*where)
        self.binding_called(binding, plan, arguments)

    @reads_note
    def wrote(self, text: str) -> None:
        """Append text that the program wrote. It belongs to the line that wrote it, even if the program has moved
        on.
        """
        if self.moved:
            self.line_event()
        super().wrote(text)

    # -- lines --------------------------------------------------------------------------------------------------------

    def line_event(self) -> None:
        """Append the thread's current line, unless it is the last one here."""
        self._line_events(again=False)

    def _line_events(self, again: bool, begins: bool = False) -> None:
        """Append the lines of the stack that are not there yet.

        ``again`` is True if the innermost line is reached once more, and ``begins`` if a call begins with it.
        """
        self.moved = False
        stack, here = self._stack, self._line_here()
        self._shallowest[self.thread] = len(stack)
        is_last = here is not None and self._last_seqs[-1:] == [here]
        if is_last and stack == self._last_stack:  # the common case
            if again:
                caller = self._last_seqs[-2] if len(stack) > 1 else None
                self._last_seqs[-1] = self._append_line(stack[-1], caller, begins=begins)
            return
        same = _common(stack, self._last_stack)
        lines, known = (self._last_seqs, same) if is_last else self._lines_known(here, stack)
        if known == len(stack) == len(lines) and not again:
            return
        first = max(min(known, len(stack) - 1), 0)
        seqs = lines[:first]
        for depth in range(first + 1, len(stack) + 1):
            reached = again and depth == len(stack)
            resumed = not reached and self._is_begun(stack[depth - 1], depth <= same)
            caller = seqs[-1] if seqs else None
            seqs.append(self._append_line(stack[depth - 1], caller, resumed, begins and reached))
        self._last_seqs, self._last_stack = seqs, stack.copy()

    def _is_begun(self, location: Location, same: bool) -> bool:
        """Return whether a frame has begun its statement before.

        An announced line has begun when it was announced. Another one has if the frame and its callers were at the same
        place when the last line was appended (``same``).
        """
        return location in self._begun if location.file in self.announced.values() else same

    def _append_line(self, location: Location, caller: int | None, resumed: bool = False, begins: bool = False) -> int:
        file, function, number = location
        self.source_line(file, number, function, caller, resumed, begins)
        line = self.events[len(self.events) - 1]
        if line.parent is not None:
            self._last_line[line.parent] = line.seq
        return line.seq

    def _lines_known(self, seq: int | None, stack: list[Location]) -> tuple[list[int], int]:
        """Return a line and its callers, outermost first, and how many of them are at the places of a stack."""
        found = []
        while seq is not None:
            line = self._line(seq)
            found.append(line)
            seq = line.caller
        found.reverse()
        pairs = enumerate(zip(stack, found, strict=False))
        known = next((at for at, (place, line) in pairs if not _is_at(line, place)), min(len(stack), len(found)))
        return [line.seq for line in found], known

    def _line(self, seq: int) -> ev.SourceLine:
        line = self.events[seq]
        assert isinstance(line, ev.SourceLine)
        return line

    def _line_here(self) -> int | None:
        seq = self.open
        while seq is not None and seq not in self._last_line and type(self.events[seq]) is not ev.SourceLine:
            seq = self.events[seq].parent
        return None if seq is None else self._last_line.get(seq, seq)

    # -- locations ----------------------------------------------------------------------------------------------------

    @property
    def _stack(self) -> list[Location]:
        return self._stacks.setdefault(self.thread, [])

    def _read_locations(self, locations: CodeLocations) -> list[Location]:
        if self._last_read[0] is not locations:
            self._last_read = locations, self._stack_of(locations)
        return self._last_read[1].copy()

    def _stack_of(self, locations: CodeLocations) -> list[Location]:
        known, last = self._last_read
        callers = min(len(known), len(locations)) - 1
        is_same = callers > 0 and len(last) == len(known) and known[:callers] == locations[:callers]
        stack = last[:callers] if is_same else []  # a call or a return in a deep recursion
        for code, instruction in locations[len(stack) :]:
            location = self._location(code, instruction)
            if code.co_name in _PARTS_OF_STATEMENTS and stack and _same_line(stack[-1], location):
                continue
            stack.append(location)
        return stack

    def _location(self, code: CodeType, instruction: int) -> Location:
        known = self._locations.get((id(code), instruction))
        if known is None:
            known = self._locations[id(code), instruction] = code, self._find(code, line_of(code, instruction))
        return known[1]

    def _announced_line(self, code: CodeType, line: int) -> Location:
        known = self._lines.get((id(code), line))
        if known is None:
            known = self._lines[id(code), line] = code, Location(self._file(code), _function(code), line)
        return known[1]

    def _find(self, code: CodeType, line: int) -> Location:
        file = self._file(code)
        return Location(file, _function(code), statement_starts(self.sources[file]).get(line, line))

    def _file(self, code: CodeType) -> str:
        shown = self.announced.get(code.co_filename)
        if shown is None:
            shown = shown_file(code.co_filename)
            self.sources.setdefault(shown, source_of(code.co_filename))
        return shown


def _same_line(one: Location, other: Location) -> bool:
    return one.file == other.file and one.line == other.line


def _common(stack: list[Location], other: list[Location]) -> int:
    """Return how many frames of two stacks, starting at the outermost, are on the same lines.

    Most often all callers are the same, and Python compares those of a deep recursion at once.
    """
    shorter = min(len(stack), len(other))
    for count in (shorter, shorter - 1):
        if count > 0 and stack[:count] == other[:count]:
            first = count
            break
    else:
        first = 0
    while first < shorter and stack[first] == other[first]:
        first += 1
    return first


def _is_at(line: ev.SourceLine, location: Location) -> bool:
    file, function, number = location
    return line.line == number and line.function == function and line.file == file


def _function(code: CodeType) -> str:
    """Return ``co_qualname`` without the enclosing functions and without comprehensions."""
    parts = [part for part in code.co_qualname.split(".<locals>.") if part not in _COMPREHENSIONS]
    return "" if not parts or parts[-1] == "<module>" else parts[-1]
