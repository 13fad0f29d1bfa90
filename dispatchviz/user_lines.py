"""Which of the user's lines each step happens on, and from where the function that the line is in was called.

A note says where Python stands: the user's frames, outermost first, each a code object and an instruction. A line that
the program reaches is told at once; one that it comes back to, after a return, before the next event, if there is one.

Not here: who notes (``recording.py``), finding frames (``call_sites.py``).
"""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

from dispatchviz.call_sites import Places, line_of, shown_file, source_of, statement_starts
from dispatchviz.core.bindings.binding import Binding, Plan
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.transcript import Transcript

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")
_PARTS_OF_STATEMENTS = (*_COMPREHENSIONS, "<genexpr>", "<lambda>")
"""Run within the statement that they are written in they are no functions of their own."""


class Place(NamedTuple):
    """Where one of the user's frames stands."""

    file: str
    function: str
    line: int


class ProgramTranscript(Transcript):
    """Also tells the line that the program is on before anything happens there."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, str] = {}
        self.announced: dict[str, str] = {}
        """File name as in the code object, to the name that the trace shows; of scripts that tell their lines."""
        self._stacks: dict[int, list[Place]] = {}
        """Where each thread stands, outermost first."""
        self._told: dict[int, int] = {}
        """Of each open event the line that was told last directly within it."""
        self._came_last: tuple[CodeType | None, int, int] = None, -1, 0
        self._places: dict[tuple[int, int], tuple[CodeType, Place]] = {}

    # -- what is noted ------------------------------------------------------------------------------------------------

    def line_reached(self, code: CodeType, line: int) -> None:
        """The innermost frame begins a statement."""
        stack = self._stack
        stack[-1:] = [Place(self._file(code), _function(code), line)]
        self._tell(anew=True)

    def entered(self, places: Places, line: int) -> None:
        """A frame begins its first statement."""
        stack = self._stacks[self.thread] = self._read_places(places)
        stack[-1] = stack[-1]._replace(line=line)
        self._tell(anew=True)

    def stands(self, places: Places) -> None:
        """Another frame goes on, or another part of a statement; told if anything happens there."""
        self._stacks[self.thread] = self._read_places(places)
        self.moved = True

    def arrived(self, code: CodeType, instruction: int) -> None:
        """A binding is about to be entered from the frame that told its line last."""
        place, stack = self._place(code, instruction), self._stack
        if stack and (place.file, place.line) == (stack[-1].file, stack[-1].line):
            return
        stack[-1:] = [place]
        self.moved = True

    def came(self, places: Places) -> None:
        """A binding is about to be entered from code that does not tell its lines: each turn of a loop counts."""
        code, instruction = places[-1]
        last_code, last, depth = self._came_last
        again = last_code is code and instruction <= last and len(places) == depth
        self._came_last = code, instruction, len(places)
        self._stacks[self.thread] = self._read_places(places)
        self._tell(anew=again)

    def binding_called_again(self, how: tuple[tuple[Any, ...], Binding, Plan, tuple[Any, ...]]) -> None:
        """Both in one: an instruction calls the same binding with the same tensors."""
        (arrival, *where), binding, plan, facts = how
        getattr(self, arrival)(*where)
        self.binding_called(binding, plan, facts)

    def wrote(self, text: str) -> None:
        """What the line wrote that was left belongs to that line."""
        if self.moved:
            self.tell_line()
        super().wrote(text)

    # -- telling ------------------------------------------------------------------------------------------------------

    def tell_line(self) -> None:
        """Tells the line that the thread is on, unless it is the one told last here."""
        self._tell(anew=False)

    def _tell(self, anew: bool) -> None:
        """Tells those lines of the stack that are not told; ``anew``: the innermost one is reached once more."""
        self.moved = False
        stack, told = self._stack, self._told_stack()
        known = 0
        while known < min(len(stack), len(told)) and _place(told[known]) == stack[known]:
            known += 1
        if known == len(stack) == len(told) and not anew:
            return
        first = min(known, len(stack) - 1)
        caller = told[first - 1].seq if first > 0 else None
        for place in stack[max(first, 0) :]:
            caller = self._tell_place(place, caller)

    def _tell_place(self, place: Place, caller: int | None) -> int:
        self.source_line(place.file, place.line, place.function, caller)
        line = self.events[-1]
        if line.parent is not None:
            self._told[line.parent] = line.seq
        return line.seq

    def _told_stack(self) -> list[ev.SourceLine]:
        """The line told last here and those that it was called from, outermost first."""
        seq = self._told_here()
        found = []
        while seq is not None:
            line = self.events[seq]
            assert isinstance(line, ev.SourceLine)
            found.append(line)
            seq = line.caller
        return found[::-1]

    def _told_here(self) -> int | None:
        seq = self.open
        while seq is not None and seq not in self._told and not isinstance(self.events[seq], ev.SourceLine):
            seq = self.events[seq].parent
        return None if seq is None else self._told.get(seq, seq)

    # -- places -------------------------------------------------------------------------------------------------------

    @property
    def _stack(self) -> list[Place]:
        return self._stacks.setdefault(self.thread, [])

    def _read_places(self, places: Places) -> list[Place]:
        stack: list[Place] = []
        for code, instruction in places:
            place = self._place(code, instruction)
            if code.co_name in _PARTS_OF_STATEMENTS and stack and _same_line(stack[-1], place):
                continue
            stack.append(place)
        return stack

    def _place(self, code: CodeType, instruction: int) -> Place:
        known = self._places.get((id(code), instruction))
        if known is None:
            known = self._places[id(code), instruction] = code, self._find(code, line_of(code, instruction))
        return known[1]

    def _find(self, code: CodeType, line: int) -> Place:
        file = self._file(code)
        return Place(file, _function(code), statement_starts(self.sources[file]).get(line, line))

    def _file(self, code: CodeType) -> str:
        shown = self.announced.get(code.co_filename)
        if shown is None:
            shown = shown_file(code.co_filename)
            self.sources.setdefault(shown, source_of(code.co_filename))
        return shown


def _same_line(one: Place, other: Place) -> bool:
    return one.file == other.file and one.line == other.line


def _place(line: ev.SourceLine) -> Place:
    return Place(line.file, line.function, line.line)


def _function(code: CodeType) -> str:
    """The name as its author would say it: without the functions around it, and without comprehensions."""
    parts = [part for part in code.co_qualname.split(".<locals>.") if part not in _COMPREHENSIONS]
    return "" if not parts or parts[-1] == "<module>" else parts[-1]
