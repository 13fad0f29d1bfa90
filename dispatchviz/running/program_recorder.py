"""The recorder that knows the user's program: its current line and the names of its variables.

Instrumented code announces its lines itself (``source_recorder.py``). For other code the recorder looks at the frames
when something is called.

Not here: how events are made (``core/record``), finding frames (``call_sites.py``), reading the notes again
(``user_lines.py``), the trace that grows (``recording.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dispatchviz import core
from dispatchviz.core.autograd.engine import engine, input_buffer
from dispatchviz.core.autograd.engine.engine_recording import is_node_run
from dispatchviz.core.bindings.binding import Binding, Plan
from dispatchviz.core.kernel.recorded_kernels import is_recorded_call
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.running.call_sites import (
    Way,
    is_users,
    same_way,
    scope_of,
    shown_file,
    user_frame,
    user_location,
    way_and_locations,
)
from dispatchviz.running.held_tensors import HOLDS_NOTHING, is_module, is_tensor
from dispatchviz.running.source_recorder import SourceRecorder
from dispatchviz.running.user_lines import ProgramEventBuilder

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import GraphTask
    from dispatchviz.core.record.note_types import AllWritten, Arrival, BindingCalledAgain


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


class ProgramRecorder(SourceRecorder):
    """A recorder that also records which of the user's lines make calls and which variables name which tensors.

    A script that ``instrumented_source.py`` compiled reports its lines and names itself. For all other files of the
    user, the recorder looks at the calling frame whenever the machine is entered.
    """

    finds_callers = True

    def __init__(self, builder: ProgramEventBuilder | None = None) -> None:
        super().__init__(builder)
        self._sites: dict[tuple[int, int], _Site] = {}
        """Sites by code object and instruction of the user's."""
        self._kinds = dict(_machine_kinds)
        """The kind of a code object by its ``id``. Hashing a code object would hash everything in it."""
        self.kernels |= _machine_kernels
        self._codes: list[CodeType] = []
        """Code objects that are kept alive, so that each ``id`` stays unique."""
        self.met_rank: Callable[[int], object] = id
        """A function that is called with the rank of this process in a distributed program, whenever it is seen."""
        self.engine_known: Callable[[], object] = lambda: None
        """A function that is called when the program has imported its engine, whose facts belong in the header."""

    def begin_in_child(self) -> None:
        """Begin a recording of its own in a forked child, where other threads do not exist."""
        raise NotImplementedError("only an installed PyTorch is recorded in forked children")

    @property
    def sources(self) -> dict[str, str]:
        """The text of the user's files by name, as far as the trace refers to them."""
        return self._program.sources

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
                self._found, self._found_way = (id(frame), frame.f_lasti), way_and_locations(frame, self.base)[0]
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
        entered = code in _ENTERED_FROM_THERE or is_recorded_call(code) or is_node_run(code)
        outside = _BASE if code is self.base[1] else _OTHER
        kind = _USERS if is_users(code) else _ENTERED if entered else outside
        self._kinds[id(code)] = kind
        kernels = {id(code)} if code.co_filename.startswith(_KERNELS) else set[int]()
        self.kernels |= kernels
        if kind in (_OTHER, _ENTERED) and code.co_filename.startswith(_MACHINE):
            _machine_codes.append(code)
            _machine_kinds[id(code)] = kind
            _machine_kernels.update(kernels)
        else:
            self._codes.append(code)
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
        way, locations = way_and_locations(frame, self.base)
        self._found, self._found_way = (id(frame), frame.f_lasti), () if announced else way
        return ("frame_resumed", locations) if announced else ("called_from_frame", locations)

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

    def module_called(self, module: Any, /) -> FrameType | None:
        """Note the calling line and the module. Return the user's frame."""
        if len(self.notes) > self.many_notes:
            self.hand_over()
        frame = self._arrive(())
        super().module_called(module)
        return frame

    def module_name(self, module: Any, /) -> str:
        """Return the path of a module, as the program's variables give it."""
        return self.names.module_name(module)

    def module_changed(self, module: Any, /) -> None:
        """Read the module's names again before the next line."""
        self.names.holder_changed(module)

    def correct(self, error: BaseException, /) -> None:
        """Give an error that leaves the program the text that it has without a recorder."""

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
_MACHINE = os.path.join(os.path.dirname(core.__file__), "")
_KERNELS = (
    *(os.path.join(_MACHINE, folder, "") for folder in ("native", "generated")),
    Binding.__call__.__code__.co_filename,
)

_machine_kinds: dict[int, int] = {}
"""The kinds of the machine's own code objects, which are the same in all recordings of a process."""

_machine_kernels: set[int] = set()
"""Those of them that are kernels or bindings."""

_machine_codes: list[CodeType] = []
"""The code objects of both, which are kept alive."""

_CALLERS_CALLER = 3
"""The distance in frames of the caller of the machine's function. The first frame is the safety net's."""

_BINDINGS_CALLER = 4
"""The distance of the binding's caller. The frames in between are the safety net, ``Binding._run_plan_recorded`` and
``Binding.__call__``.
"""

_ALL_WRITTEN: AllWritten = ("all_written",)
