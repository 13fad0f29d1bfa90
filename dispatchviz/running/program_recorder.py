"""The recorder that knows the user's program: its current line and the names of its variables.

Instrumented code announces its lines itself. For other code the recorder looks at the frames when something is called.

Not here: how events are made (``core/record``), finding frames (``call_sites.py``), reading the notes again
(``user_lines.py``), the trace that grows (``recording.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dispatchviz import core
from dispatchviz.core.autograd.engine import engine, input_buffer
from dispatchviz.core.autograd.engine.engine_recording import is_node_run
from dispatchviz.core.bindings.binding import Binding, Plan
from dispatchviz.core.kernel.recorded_kernels import is_recorded_call
from dispatchviz.core.record.event_filter import EventFilter, no_iteration
from dispatchviz.core.record.machine_recorder import Recorder
from dispatchviz.core.record.recorders.safety_net import hands_on
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.deletion import NO_DELETION, Deletion, deletion
from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.running.call_sites import (
    Base,
    is_users,
    may_wait,
    shown_file,
    suspends,
    user_frame,
    user_location,
    user_locations,
)
from dispatchviz.running.held_tensors import HOLDS_NOTHING, is_module, is_tensor
from dispatchviz.running.recorded_part import Iterations, RecordedPart, loops_of
from dispatchviz.running.user_lines import ProgramEventBuilder
from dispatchviz.running.variable_names import Names

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import GraphTask
    from dispatchviz.core.record.event_filter import Only
    from dispatchviz.core.record.note_types import AllWritten, Arrival, BindingCalledAgain
    from dispatchviz.running.program_source import Source

Way = tuple[tuple[CodeType, int], ...]
"""The waiting frames, innermost first: code and instruction of each, both the user's and others'."""


class _Site(Struct, gc=False):
    """The last call of a binding by an instruction of the user's. Other tensors may have other names."""

    code: CodeType
    """The code of the instruction, kept alive because it is identified by its ``id``."""
    plan: Plan
    serials: tuple[int, ...]
    first: int
    """The first serial number, -1 if there is none."""
    second: int
    way: Way | None
    """The way by which its function was called; None if its code announces its lines."""
    arrival: Arrival | None = None
    """The note about ``way``, once it was emitted."""
    note: Any = None
    """The BindingCalledAgain to emit if the call is repeated; None before that."""


class _Within:
    """An object on the value stack of a frame without statements. It is deleted if an error ends the frame, and then
    reports this.
    """

    __slots__ = ("__del__", "recorder")
    __del__: Deletion
    recorder: ProgramRecorder

    def __call__(self, value: Any) -> Any:
        """Return the value that the frame ends with, and report the end."""
        self.__del__ = NO_DELETION
        self.recorder.left(_getframe(1))
        return value


class ProgramRecorder(Recorder):
    """A recorder that also records which of the user's lines make calls and which variables name which tensors.

    A script compiled by ``instrumented_source.py`` announces its lines and names itself and is listed in ``announced``.
    For all other files of the user, the recorder looks at the calling frame whenever the machine is entered.
    """

    finds_callers = True

    def __init__(self, builder: ProgramEventBuilder | None = None) -> None:
        self._program = builder or ProgramEventBuilder()
        super().__init__(self._program)
        self.announced = self._program.announced
        """A mapping from the file name in the code object to the name that the trace shows."""
        self.names = Names(self)
        self._bindings: dict[str, Callable[[], int]] = {}
        """The counters of the runs of each statement that alone binds a variable in iterations."""
        self.iterations = Iterations((), self.selection_changed)
        self._sites: dict[tuple[int, int], _Site] = {}
        """Sites by code object and instruction of the user's."""
        self.base: Base = 0, None
        """The innermost frame that no longer belongs to the program."""
        self._top = 0
        """The ``id`` of the frame that was noted as the current one."""
        self._top_code: CodeType | None = None
        self._beginning = 0
        """The ``id`` of the frame of a function that is about to report its first statement."""
        self._found = 0, 0
        """The ``id`` of the frame and the instruction from which the machine was last noted to be entered."""
        self._found_way: Way = ()
        self._entered: dict[int, int] = {}
        """The ``id`` of frames of calls, bindings, backwards and Nodes that were entered from there, with that of their
        code. A frame that is over leaves its ``id`` to another one.
        """
        self._kinds: dict[int, int] = {}
        """The kind of a code object by its ``id``. Hashing a code object would hash everything in it."""
        self._codes: list[CodeType] = []
        """Code objects that are kept alive, so that each ``id`` stays unique."""
        self.met_rank: Callable[[int], object] = id
        """A function that is called with the rank of this process in a distributed program, whenever it is seen."""

    def begin_in_child(self) -> None:
        """Begin a recording of its own in a forked child, where other threads do not exist."""
        raise NotImplementedError("only an installed PyTorch is recorded in forked children")

    @property
    def sources(self) -> dict[str, str]:
        """The text of the user's files by name, as far as the trace refers to them."""
        return self._program.sources

    # -- called by the program that instrumented_source.py compiled ----------------------------------------------------

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

    # -- called by the machine ----------------------------------------------------------------------------------------

    def find_caller(self, parsed: bool = True, in_kernel: bool = False, /) -> None:
        """Look for the user's frame, unless something nearer was entered from its last place.

        That is a call, a backward, a Node, a binding that has ``parsed`` its arguments or, where one may run
        (``in_kernel``), a kernel.
        """
        kinds, top, entered = self._kinds, self._top, self._entered
        call = _getframe(_CALLERS_CALLER)
        if thread.state.graph_task is not None and self._is_same_sum(call):
            return
        frame: FrameType | None = call
        passed: dict[int, int] = {}
        while frame is not None:
            kind = kinds.get(id(frame.f_code)) or self._kind(frame.f_code)
            if kind >= _USERS:
                break
            if in_kernel and id(frame.f_code) in self.kernels:
                return
            if kind == _ENTERED and parsed:
                if entered.get(id(frame)) == id(frame.f_code) or id(frame.f_back) == top:
                    entered.update(passed)
                    return
                passed[id(frame)] = id(frame.f_code)
            frame = frame.f_back
        if frame is not None and kind == _USERS:
            if self._found != (id(frame), frame.f_lasti) or not same_way(frame, self._found_way):
                self._resumed(frame)
                self._found, self._found_way = (id(frame), frame.f_lasti), self._way(frame)
            entered.update(passed)

    def _is_same_sum(self, call: FrameType) -> bool:
        """Return whether the engine adds up gradients in a graph task that was already followed to the user's frame.

        Most calls of a backward outside of Nodes are of this kind, and only frames of the engine are in between.
        """
        caller, task = call.f_back, thread.state.graph_task
        if task is None or caller is None or caller.f_code is not _SUM:
            return False
        known = self._entered.get(_ENGINE) == task.id
        self._entered[_ENGINE] = task.id
        return known

    def _kind(self, code: CodeType) -> int:
        self._codes.append(code)
        entered = code in _ENTERED_FROM_THERE or is_recorded_call(code) or is_node_run(code)
        outside = _BASE if code is self.base[1] else _OTHER
        kind = _USERS if is_users(code) else _ENTERED if entered else outside
        self._kinds[id(code)] = kind
        if code.co_filename.startswith(_KERNELS):
            self.kernels.add(id(code))
        return kind

    def backward_over(self, task: GraphTask) -> None:
        """Forget the entered frames, because the frame of the engine ends and another frame may get its address."""
        super().backward_over(task)
        self._entered.clear()

    def binding_entered(self, binding: Binding, signature: int, values: Sequence[Any]) -> None:
        """Note the calling line and the binding."""
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        self._arrive(values)
        super().binding_entered(binding, signature, values)

    def binding_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...], /) -> None:
        """Note the calling line and the binding.

        If the same line called with the same tensors before, the note is reused, which makes lines that run often
        cheap.
        """
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        frame = _getframe(_BINDINGS_CALLER)
        site = self._sites.get((id(frame.f_code), frame.f_lasti))
        if (
            site is not None
            and site.plan is plan
            and (self._top == id(frame) if site.way is None else same_way(frame, site.way))
            and (
                args[0]._number == site.first and args[1]._number == site.second
                if len(args) == 2
                else site.serials == tuple([arg._number for arg in args])
            )
        ):
            self._last_error = None
            self._top = id(frame)
            if self._entered:
                self._entered.clear()
            self.found = plan.is_call
            self.note(site.note or self._again(site, frame, binding))
        elif site is not None and site.plan is plan:
            self._called_with_others(site, frame, binding, args)
        else:
            self._first_called(binding, plan, args, frame)

    def _first_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...], within: FrameType) -> None:
        frame = self._arrive(args, within)
        serials = self._binding_called(binding, plan, args)
        if frame is not None and all(plan.tensors):
            first, second, *_ = *serials, -1, -1
            way = None if frame.f_code.co_filename in self.announced else self._found_way
            self._sites[id(frame.f_code), frame.f_lasti] = _Site(frame.f_code, plan, serials, first, second, way)

    def _called_with_others(self, site: _Site, frame: FrameType, binding: Binding, args: tuple[Any, ...]) -> None:
        """Note a call of the same instruction with other tensors."""
        self._last_error = None
        if site.way is None:
            self.note(self._arrival(frame))
        elif site.arrival is not None and same_way(frame, site.way):
            self._top, self._top_code = id(frame), frame.f_code
            self._entered.clear()
            self._found, self._found_way = (id(frame), frame.f_lasti), site.way
            self.note(site.arrival)
            self._name_locals(frame, scope_of(frame.f_code), args)
        else:
            site.arrival = self._arrival(frame)
            self.note(site.arrival)
            self._name_locals(frame, scope_of(frame.f_code), args)
            site.way = self._found_way
        first = self.first_tensor
        serials = tuple([arg._number if arg._number >= first else self._serial(arg) for arg in args])
        self.note(("binding_called", binding, site.plan, serials))
        site.serials, site.note = serials, None
        site.first, site.second = serials if len(serials) == 2 else (-1, -1)

    def _again(self, site: _Site, frame: FrameType, binding: Binding) -> BindingCalledAgain:
        """Return the note for further calls of the same kind by the instruction."""
        note: BindingCalledAgain = ("binding_called_again", (self._arrival(frame), binding, site.plan, site.serials))
        site.note = note
        return note

    def _arrive(self, values: Sequence[Any], within: FrameType | None = None) -> FrameType | None:
        """Note the user's line and, unless the program announces them itself, its names. Return its frame."""
        frame = user_frame(within, self.base)
        if frame is not None:
            self.note(self._arrival(frame))
            if frame.f_code.co_filename not in self.announced:
                scope = scope_of(frame.f_code)
                self._name_modules(frame, scope)
                self._name_locals(frame, scope, values)
        return frame

    def _arrival(self, frame: FrameType) -> Arrival:
        """Return the note that a binding is about to be entered from one of the user's frames."""
        code = frame.f_code
        announced = code.co_filename in self.announced
        if announced and self._top == id(frame):
            return "called_from_line", code, frame.f_lasti
        self._top, self._top_code = id(frame), code
        self._entered.clear()
        self._found, self._found_way = (id(frame), frame.f_lasti), () if announced else self._way(frame)
        locations = user_locations(frame, self.base)
        return ("frame_resumed", locations) if announced else ("called_from_frame", locations)

    def _way(self, frame: FrameType) -> Way:
        way, caller = [], frame.f_back
        base, code = self.base
        while caller is not None and not (id(caller) == base and caller.f_code is code):
            way.append((caller.f_code, caller.f_lasti))
            caller = caller.f_back
        return tuple(way)

    def name_locals(self, frame: FrameType, /) -> None:
        """Note the names of a frame's tensors that this recording has numbered. They belong to the last line."""
        self._name_locals(frame, scope_of(frame.f_code), ())

    def _name_locals(self, frame: FrameType, scope: str, arguments: Sequence[object]) -> None:
        """Note the names of a frame's tensors that are numbered or are arguments now."""
        first, bind = self.first_tensor, self.names.bind
        for name, value in list(frame.f_locals.items()):
            if type(value) in PLAIN or not is_tensor(value):
                continue
            if self.number_of(value) >= first or any(value is one for one in arguments):
                bind(scope, name, value)

    def _name_modules(self, frame: FrameType, scope: str) -> None:
        """Note the names of the tensors that a frame's modules hold."""
        if self.names.changed:
            self.names.look_again()
        for name, value in list(frame.f_locals.items()):
            if type(value) not in HOLDS_NOTHING and is_module(value):
                self.names.bind(scope, name, value)

    def module_called(self, module: Any, /) -> None:
        """Note the calling line and the module."""
        if len(self.notes) > self.many_notes:
            self.hand_over()
        self._arrive(())
        super().module_called(module)

    def module_name(self, module: Any, /) -> str:
        """Return the path of a module, as the program's variables give it."""
        return self.names.module_name(module)

    def module_changed(self, module: Any, /) -> None:
        """Read the module's names again before the next line."""
        self.names.holder_changed(module)

    def raised(self, error: BaseException, traceback: str = "") -> tuple[str, int]:
        """Record that an exception leaves the program, as the last event. Return the user's file and line where it was
        raised.
        """
        file, line = user_location(error.__traceback__)
        shown = self._shown(file)
        self.program_raised(error, shown, line, traceback)
        return shown, line

    def warning_shown(self, category: str, message: str, file: str, line: int) -> None:
        """Record a warning that points to a line of a file."""
        if recorder.listening is self:  # the limit of the recording may be reached, and a forked child is not recorded
            self.warned(category, message, self._shown(file), line)

    def _build_with(self, builder: ProgramEventBuilder) -> None:
        """Build later events with another builder, which knows the files of the program."""
        known, self.builder, self._program = self._program, builder, builder
        builder.announced.update(known.announced)
        builder.sources.update(
            (file, known.sources[file]) for file in known.announced.values() if file in known.sources
        )
        self.announced, self.names = builder.announced, Names(self)
        self._top, self._top_code, self._beginning, self._found, self._found_way = 0, None, 0, (0, 0), ()
        self._entered.clear()

    def _shown(self, file: str) -> str:
        return self.announced.get(file) or (shown_file(file) if file else "")

    def all_written(self, /) -> None:
        """Note that all text written so far belongs to the line that ran last, even if the line of output is
        unfinished.
        """
        self.note(_ALL_WRITTEN)


_ENTERED_FROM_THERE = {Binding.__call__.__code__, Binding._call_under_modes.__code__, engine.execute.__code__}
_OTHER, _ENTERED, _USERS, _BASE = 1, 2, 3, 4
_SUM = input_buffer._accumulate.__code__
_ENGINE = -1
"""The key in ``_entered`` for the graph task in which a sum was followed to the user's frame."""
_KERNELS = (
    *(os.path.join(os.path.dirname(core.__file__), folder, "") for folder in ("native", "generated")),
    Binding.__call__.__code__.co_filename,
)

_CALLER, _CALLERS_CALLER = 2, 3
"""The distance in frames from a method of the recorder. The first frame is the safety net's."""

_BINDINGS_CALLER = 4
"""The distance of the binding's caller. The frames in between are the safety net, ``Binding._run_plan_recorded`` and
``Binding.__call__``.
"""

_ALL_WRITTEN: AllWritten = ("all_written",)


def scope_of(code: CodeType) -> str:
    """Return the function that the variables of a frame belong to; empty for the module."""
    return "" if code.co_name == "<module>" else code.co_qualname.replace(".<locals>", "")


def same_way(frame: FrameType, way: Way) -> bool:
    """Return whether the function that runs in a frame was called in the same way."""
    caller: FrameType | None = frame
    for code, instruction in way:
        caller = caller.f_back  # type: ignore[union-attr]  # the last one was a frame
        if caller is None or caller.f_lasti != instruction or caller.f_code is not code:
            return False
    return True
