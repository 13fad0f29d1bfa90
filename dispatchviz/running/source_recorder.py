"""The recorder of instrumented source, which calls these methods: lines that it reaches, variables that it binds,
iterations, and frames that begin, wait or end (``instrumented_source.py``).

Not here: calls of the machine (``program_recorder.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record.event_filter import EventFilter, no_iteration
from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.record.recorders.safety_net import hands_on
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.deletion import NO_DELETION, Deletion, deletion
from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.running.call_sites import Base, Way, is_users, may_wait, scope_of, suspends, user_locations
from dispatchviz.running.recorded_part import Iterations, RecordedPart, loops_of
from dispatchviz.running.user_lines import ProgramEventBuilder
from dispatchviz.running.variable_names import Names

if TYPE_CHECKING:
    from dispatchviz.core.record.event_filter import Only
    from dispatchviz.running.program_source import Source


class _Within:
    """An object on the value stack of a frame without statements. It is deleted if an error ends the frame, and then
    reports this.
    """

    __slots__ = ("__del__", "recorder")
    __del__: Deletion
    recorder: SourceRecorder

    def __call__(self, value: Any) -> Any:
        """Return the value that the frame ends with, and report the end."""
        self.__del__ = NO_DELETION
        self.recorder.left(_getframe(1))
        return value


class SourceRecorder(Recorder):
    """A recorder to which instrumented source reports. ``announced`` lists the files that report."""

    def __init__(self, builder: ProgramEventBuilder | None = None) -> None:
        self._program = builder or ProgramEventBuilder()
        super().__init__(self._program)
        self.announced = self._program.announced
        """A mapping from the file name in the code object to the name that the trace shows."""
        self.names = Names(self)
        self._bindings: dict[str, Callable[[], int]] = {}
        """The counters of the runs of each statement that alone binds a variable in iterations."""
        self.iterations = Iterations((), self.selection_changed)
        self.base: Base = 0, None
        """The innermost frame that no longer belongs to the program."""
        self._entered: dict[int, int] = {}
        """The ``id`` of frames of calls, bindings, backwards and Nodes that were entered from there, with that of their
        code. A frame that is over leaves its ``id`` to another one.
        """
        self._forget_frames()

    def _forget_frames(self) -> None:
        """Know no frame, at first and where a recording begins anew."""
        self._top = 0
        """The ``id`` of the frame that was noted as the current one."""
        self._top_code: CodeType | None = None
        self._beginning = 0
        """The ``id`` of the frame of a function that is about to report its first statement."""
        self._found = 0, 0
        """The ``id`` of the frame and the instruction from which the machine was last noted to be entered."""
        self._found_way: Way = ()
        self._entered.clear()

    def _build_with(self, builder: ProgramEventBuilder) -> None:
        """Build later events with another builder, which knows the files of the program."""
        known, self.builder, self._program = self._program, builder, builder
        builder.announced.update(known.announced)
        builder.sources.update(
            (file, known.sources[file]) for file in known.announced.values() if file in known.sources
        )
        self.announced, self.names = builder.announced, Names(self)
        self._forget_frames()

    def line_reached(self, line: int, /) -> None:
        """Note that the calling frame begins a statement."""
        if len(self.notes) > self.many_notes:
            self.hand_over()
        self._last_error = None
        frame = _getframe(_CALLER)
        if self._top == id(frame) and self._top_code is frame.f_code:
            self.note(("line_reached", frame.f_code, line))
        elif recorder.listening is self:
            self._statement_begins(frame, line, self._beginning == id(frame))
        if self.names.unsettled:
            self.names.settle()

    def call_begins(self, line: int, /) -> None:
        """Note that the calling frame begins its first statement. Without a line, the statement reports the line next.

        NB: a frame that may wait resumes later, and it is not noted which one does. So it counts as any other frame.
        """
        if len(self.notes) > self.many_notes:
            self.hand_over()
        self._last_error = None
        frame = _getframe(_CALLER)
        if recorder.listening is self:
            begins = not may_wait(frame.f_code)
            if line:
                self._statement_begins(frame, line, begins)
            elif begins:
                self._top, self._beginning = 0, id(frame)
        if self.names.unsettled:
            self.names.settle()

    def _statement_begins(self, frame: FrameType, line: int, begins: bool) -> None:
        """Note a statement in another frame than before. ``begins`` is True for the frame's first statement."""
        self._top, self._top_code, self._beginning = id(frame), frame.f_code, 0
        locations = user_locations(frame, self.base)
        self.note(("call_begins", locations, line) if begins else ("frame_entered", locations, line))

    def variable_bound(self, scope: str, name: str, value: Any, /) -> None:
        """Note that the calling frame has bound a variable."""
        if type(value) not in PLAIN:
            self._resumed(_getframe(_CALLER))
        self.names.bind(scope, name, value)

    @hands_on
    def binding(self, scope: str, name: str, value: Any, /) -> Any:
        """Note that the calling frame is about to bind a variable within an expression. Return the value."""
        if type(value) not in PLAIN:
            self._resumed(_getframe(_CALLER))
        self.names.bind(scope, name, value)
        return value

    def bound_in_iteration(self, scope: str, name: str, value: Any, /) -> None:
        """Note a variable that only one statement binds, again and again."""
        iteration = self.bindings_of(name)()
        if type(value) not in PLAIN:
            self._resumed(_getframe(_CALLER))
        self.names.bind(scope, name, value, iteration)

    def bindings_of(self, name: str, /) -> Callable[[], int]:
        """Return the function that counts the bindings of ``bound_in_iteration`` for a name."""
        known = self._bindings.get(name)
        if known is None:
            known = self._bindings[name] = count(1).__next__
        return known

    def iteration_begins(self, line: int, /) -> None:
        """Note that the calling frame begins an iteration of the loop at a line."""
        self.iterations.begins((id(_getframe(_CALLER)), line))

    def loop_over(self, line: int, /) -> None:
        """Note that a loop of the calling frame has ended."""
        self.iterations.over((id(_getframe(_CALLER)), line))

    def selection_changed(self, inside: bool, /) -> None:
        """Note that the selected iterations begin or end."""
        self.note(("iterations_selected", inside))

    def line_selected(self, /) -> None:
        """Do nothing, because everything is recorded."""

    def line_not_selected(self, /) -> None:
        """Do nothing, because everything is recorded."""

    def record_part(self, only: Only, script: Source | None = None, /) -> RecordedPart:
        """Prepare for a recording of a part of a program. Return the part to instrument in its script.

        ``script`` is None for a block of code that is not instrumented.
        """
        self.iterations = Iterations(only.iteration, self.selection_changed)
        return RecordedPart(loops=loops_of(only))

    def chosen(self, only: Only | None, /) -> EventFilter | None:
        """Return the filter of the recorded events for these conditions, or None if all are kept."""
        return None if only is None else EventFilter(only, self._program.marks)

    def missed(self, only: Only, chosen: EventFilter | None, /) -> tuple[str, ...]:
        """Return a remark for each condition that selected nothing."""
        found = [] if chosen is None else list(chosen.seen.remarks(only))
        if only.iteration and not self._program.marks:
            found.append(no_iteration(only, self.iterations.most))
        return tuple(found)

    def items_changed(self, scope: str, name: str, value: Any, /) -> None:
        """Note that a variable's value may have other items or attributes."""
        if type(value) is list or type(value) is dict:
            self._resumed(_getframe(_CALLER))
            self.names.bind(scope, name, value)
        else:
            self.names.holder_changed(value)

    @hands_on
    def here(self, value: Any = None, /) -> Any:
        """Note that the calling frame resumes. Return the value."""
        self.resumed(_getframe(_CALLER))
        return value

    @hands_on
    def away(self, value: Any = None, /) -> Any:
        """Note that the calling frame is about to end or wait, together with those that only wait for it. Return the
        value.
        """
        frame = _getframe(_CALLER)
        if self.names.running:
            self.names.left(scope_of(frame.f_code))
        self.left(frame)
        return value

    def left(self, frame: FrameType, /) -> None:
        """Note that a frame is about to end or wait."""
        caller = frame.f_back
        while caller is not None and suspends(caller):
            caller = caller.f_back
        self._resumed(caller)

    def within(self, /) -> _Within:
        """Note that the calling frame, of a lambda or a generator expression, begins. Return the object that reports
        its end.
        """
        self.resumed(_getframe(_CALLER))
        within = _Within()  # without ``__init__``, which an exception might interrupt
        within.recorder = self
        within.__del__ = deletion(self._ended_by_error)
        return within

    def _ended_by_error(self) -> None:
        """Note that a frame's ``_Within`` is deleted, possibly long after with the traceback that kept it."""
        if recorder.listening is self:
            with suppress(RecursionError):  # that ended the frame, and Python would write that it ignores another one
                self.left(_getframe(2))

    def resumed(self, frame: FrameType, /) -> None:
        """Note that a frame resumes."""
        self._resumed(frame)

    def _resumed(self, frame: FrameType | None) -> None:
        if recorder.listening is self:
            while frame is not None and not is_users(frame.f_code):
                frame = frame.f_back
            self._top, self._top_code = (0, None) if frame is None else (id(frame), frame.f_code)
            self._entered.clear()
            self._found = 0, 0
            self.note(("frame_resumed", user_locations(frame, self.base)))


_CALLER = 2
"""The distance in frames from a method of the recorder. The first frame is the safety net's."""
