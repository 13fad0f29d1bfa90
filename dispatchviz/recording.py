"""Recording what a piece of the user's own Python does: ``record()``, and the recorder that knows the user's lines and
variable names.

Not here: how events are made (``core/recorder.py``), running a whole script on the model (``program.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from sys import _getframe
from types import CodeType, FrameType
from typing import Any

from msgspec import Struct

from dispatchviz import core
from dispatchviz.call_sites import Base, is_base, is_users, shown_file, suspends, user_frame, user_place, user_places
from dispatchviz.core.autograd.engine import engine
from dispatchviz.core.bindings.binding import Binding, Plan
from dispatchviz.core.device.array_library import cuda_state
from dispatchviz.core.kernel import recorded_calls
from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.notes import Recorder, catches_itself
from dispatchviz.core.record.trace_file import Header
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.names import Names
from dispatchviz.trace import Trace
from dispatchviz.user_lines import ProgramTranscript

Way = tuple[tuple[CodeType, int], ...]
"""Frames that wait, innermost first: code and instruction of each, be it the user's or not."""


class _Site(Struct, gc=False):
    """How an instruction of the user's called a binding the last time; other tensors may have other names."""

    code: CodeType
    """Whose ``id`` stands for it: kept alive here."""
    plan: Plan
    serials: tuple[int, ...]
    first: int
    """The first serial number, -1 if there is none."""
    second: int
    way: Way | None
    """From where the function that it is in was called; None if its code tells its lines."""
    note: tuple[Any, ...] = ()
    """What to note if it does so again, once it has."""


class _Within:
    """Lies on the stack of values of a frame that has no statements, so that it hears of the frame's end."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: ProgramRecorder) -> None:
        self._recorder: ProgramRecorder | None = recorder

    def __call__(self, value: Any) -> Any:
        """The value that the frame ends with."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.left(_getframe(1))
        return value

    def __del__(self) -> None:
        if self._recorder is not None:  # an error ended it
            self._recorder.left(_getframe(1))


class ProgramRecorder(Recorder):
    """Also tells which of the user's lines calls in and which variables name which tensors.

    A script compiled by ``lines.py`` announces its lines and names itself and is listed in ``announced``; for all
    other files of the user the calling frame is looked at whenever a binding is entered.
    """

    def __init__(self) -> None:
        self._program = ProgramTranscript()
        super().__init__(self._program)
        self.announced = self._program.announced
        """File name as in the code object, to the name that the trace shows."""
        self.names = Names(self)
        self._sites: dict[tuple[int, int], _Site] = {}
        """By code object and instruction of the user's."""
        self.base: Base = 0, None
        """The innermost frame that is no more part of the program."""
        self._top = 0
        """``id`` of the frame in which, as noted, Python stands."""
        self._top_code: CodeType | None = None
        self._found = 0, 0
        """``id`` of the frame and instruction from which the machine was entered, as far as noted."""
        self._found_way: Way = ()
        self._entered: set[int] = set()
        """``id`` of frames of calls, bindings and backwards that were entered from there."""
        self._kinds: dict[int, int] = {}
        """What a code object is, by its ``id``: the hash of a code object is that of all it holds."""
        self._codes: list[CodeType] = []
        """They stay alive, so that their ``id`` is theirs alone."""

    @property
    def sources(self) -> dict[str, str]:
        """Text of the user's files by name, as far as the trace speaks of them."""
        return self._program.sources

    # -- called by the program that lines.py compiled ----------------------------------------------------------------

    @catches_itself
    def line_reached(self, line: int) -> None:
        """The frame that calls begins a statement."""
        try:
            self._last_error = None  # it would keep its frames, and their tensors, alive
            frame = _getframe(1)
            if self._top == id(frame) and self._top_code is frame.f_code:
                self.note(("line_reached", frame.f_code, line))
            elif recorder.active is self:
                self._top, self._top_code = id(frame), frame.f_code
                self.note(("entered", user_places(frame, self.base), line))
        except Exception as error:
            self.give_up(error)

    @catches_itself
    def variable_bound(self, scope: str, name: str, value: Any) -> None:
        """The frame that calls has given a variable a value."""
        if type(value) not in PLAIN:
            self._stands_in(_getframe(1))
        self.names.bind(scope, name, value)

    @catches_itself
    def here(self, value: Any = None) -> Any:
        """The frame that calls goes on, with the value."""
        self._stands_in(_getframe(1))
        return value

    @catches_itself
    def away(self, value: Any = None) -> Any:
        """The frame that calls is about to be left with the value, and those that wait for it alone with it."""
        self.left(_getframe(1))
        return value

    @catches_itself
    def left(self, frame: FrameType) -> None:
        """A frame is about to be left."""
        caller = frame.f_back
        while caller is not None and suspends(caller):
            caller = caller.f_back
        self._stands_in(caller)

    @catches_itself
    def within(self) -> _Within:
        """The frame that calls begins, a lambda's or a generator expression's."""
        self._stands_in(_getframe(1))
        return _Within(self)

    def _stands_in(self, frame: FrameType | None) -> None:
        try:
            if recorder.active is self:
                while frame is not None and not is_users(frame.f_code):
                    frame = frame.f_back
                self._top, self._top_code = (0, None) if frame is None else (id(frame), frame.f_code)
                self._entered.clear()
                self._found = 0, 0
                self.note(("stands", user_places(frame, self.base)))
        except Exception as error:
            self.give_up(error)

    # -- called by the machine ----------------------------------------------------------------------------------------

    @catches_itself
    def find_caller(self, parsed: bool = True, called: bool = False) -> None:
        """Looks for the user's frame, unless something nearer was entered from the place noted last.

        That is a call, a backward, a binding that has ``parsed`` its arguments, a kernel that was ``called``.
        """
        try:
            kinds, top, entered = self._kinds, self._top, self._entered
            passed: list[int] = []
            frame: FrameType | None = _getframe(2)
            while frame is not None:
                kind = kinds.get(id(frame.f_code)) or self._kind(frame.f_code)
                if kind == _USERS:
                    break
                if called and id(frame.f_code) in self.kernels:
                    return
                if kind == _ENTERED and parsed:
                    if id(frame) in entered or id(frame.f_back) == top:
                        entered.update(passed)
                        return
                    passed.append(id(frame))
                frame = frame.f_back
            if frame is not None:
                if self._found != (id(frame), frame.f_lasti) or not _same_way(frame, self._found_way):
                    self._stands_in(frame)
                    self._found, self._found_way = (id(frame), frame.f_lasti), self._way(frame)
                entered.update(passed)
        except Exception as error:
            self.give_up(error)

    def _kind(self, code: CodeType) -> int:
        self._codes.append(code)
        entered = code in _ENTERED_FROM_THERE or (
            code.co_name == "told" and code.co_filename == recorded_calls.__file__
        )
        kind = _USERS if is_users(code) else _ENTERED if entered else _OTHER
        self._kinds[id(code)] = kind
        if code is Binding.__call__.__code__ or code.co_filename.startswith(_KERNELS):
            self.kernels.add(id(code))
        return kind

    def binding_entered(self, binding: Binding, signature: int, values: Sequence[Any]) -> None:
        """The line that calls, then the binding."""
        self._arrive(values)
        super().binding_entered(binding, signature, values)

    @catches_itself
    def binding_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...]) -> None:
        """The line that calls, then the binding.

        Where the same line called with the same tensors before, it is as it was then: lines that run often are cheap.
        """
        try:
            frame = _getframe(2)  # past Binding.__call__
            site = self._sites.get((id(frame.f_code), frame.f_lasti))
            if (
                site is not None
                and site.plan is plan
                and (self._top == id(frame) if site.way is None else _same_way(frame, site.way))
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
                self._first_called(binding, plan, args)
        except Exception as error:
            self.give_up(error)

    def _first_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...]) -> None:
        frame = self._arrive(args)
        super().binding_called(binding, plan, args)
        if frame is not None and all(plan.tensors):
            serials = tuple([arg._number for arg in args])
            first, second, *_ = *serials, -1, -1
            way = None if frame.f_code.co_filename in self.announced else self._found_way
            self._sites[id(frame.f_code), frame.f_lasti] = _Site(frame.f_code, plan, serials, first, second, way)

    def _called_with_others(self, site: _Site, frame: FrameType, binding: Binding, args: tuple[Any, ...]) -> None:
        """The same instruction, with other tensors."""
        self._last_error = None
        self.note(self._arrival(frame))
        if site.way is not None:
            self._name_locals(frame, args)
            site.way = self._found_way
        first = self.first_tensor
        serials = tuple([arg._number if arg._number >= first else self.serial(arg) for arg in args])
        self.note(("binding_called", binding, site.plan, serials))
        site.serials, site.note = serials, ()
        site.first, site.second = serials if len(serials) == 2 else (-1, -1)

    def _again(self, site: _Site, frame: FrameType, binding: Binding) -> tuple[Any, ...]:
        """What to note from now on if the instruction does the same."""
        site.note = "binding_called_again", (self._arrival(frame), binding, site.plan, site.serials)
        return site.note

    def _arrive(self, values: Sequence[Any]) -> FrameType | None:
        """Tells the user's line and, unless the program does that itself, its names; gives its frame."""
        frame = user_frame()
        if frame is not None:
            self.note(self._arrival(frame))
            if frame.f_code.co_filename not in self.announced:
                self._name_locals(frame, values)
        return frame

    def _arrival(self, frame: FrameType) -> tuple[Any, ...]:
        """The note that a binding is about to be entered from a frame of the user's."""
        code = frame.f_code
        told = code.co_filename in self.announced
        if told and self._top == id(frame):
            return "arrived", code, frame.f_lasti
        self._top, self._top_code = id(frame), code
        self._entered.clear()
        self._found, self._found_way = (id(frame), frame.f_lasti), () if told else self._way(frame)
        return "stands" if told else "came", user_places(frame, self.base)

    def _way(self, frame: FrameType) -> Way:
        way, caller = [], frame.f_back
        while caller is not None and not is_base(caller, self.base):
            way.append((caller.f_code, caller.f_lasti))
            caller = caller.f_back
        return tuple(way)

    @catches_itself
    def name_locals(self, frame: FrameType) -> None:
        """Tells the names of tensors in a frame that this recording has met; they belong to the line told last."""
        try:
            self._name_locals(frame, ())
        except Exception as error:
            self.give_up(error)

    def _name_locals(self, frame: FrameType, arguments: Sequence[object]) -> None:
        """The same, and of those that are arguments now."""
        code = frame.f_code
        scope = "" if code.co_name == "<module>" else code.co_qualname
        first, bind = self.first_tensor, self.names.bind
        for name, value in list(frame.f_locals.items()):
            if type(value) in PLAIN or not isinstance(value, Tensor):
                continue
            if value._number >= first or any(value is one for one in arguments):
                bind(scope, name, value)

    def raised(self, error: BaseException) -> tuple[str, int]:
        """An exception leaves the program: the last event. Gives the user's file and line that it came from."""
        file, line = user_place(error.__traceback__)
        shown = self.announced.get(file) or (shown_file(file) if file else "")
        self.program_raised(error, shown, line)
        return shown, line

    @catches_itself
    def all_written(self) -> None:
        """Tells what was written and is not told yet."""
        self.note(_ALL_WRITTEN)


_ENTERED_FROM_THERE = {Binding.__call__.__code__, Binding._call_under_modes.__code__, engine.execute.__code__}
_OTHER, _USERS, _ENTERED = 1, 2, 3
_KERNELS = tuple(os.path.join(os.path.dirname(core.__file__), folder, "") for folder in ("native", "generated"))

_ALL_WRITTEN = ("all_written",)


def _same_way(frame: FrameType, way: Way) -> bool:
    """Whether the function that runs in a frame was called in the same way."""
    caller: Any = frame
    try:
        for code, instruction in way:
            caller = caller.f_back
            if caller.f_lasti != instruction or caller.f_code is not code:
                return False
    except AttributeError:  # there are fewer
        return False
    return True


class Recording(Trace):
    """The trace of what a recorder tells; it grows until the recording ends, and is read when somebody looks."""

    def __init__(self, program: str, source: ProgramRecorder, arguments: Sequence[str] = ()) -> None:
        self._program = program
        self._source = source
        self._arguments = tuple(arguments)

    @property
    def events(self) -> Sequence[AnyEvent]:  # type: ignore[override]
        """What was told so far."""
        return self._source.events

    @property
    def header(self) -> Header:  # type: ignore[override]
        """With the text of the files that the events so far are in."""
        self._source.settle()
        return Header(
            cuda=str(cuda_state()),
            program=self._program,
            arguments=self._arguments,
            sources=dict(sorted(self._source.sources.items())),
        )

    @property
    def notice(self) -> str:  # type: ignore[override]
        """What went wrong with the recording, or empty."""
        self._source.settle()
        failed, told = self._source.failed, len(self._source.transcript.events)
        return "" if failed is None else f"recording stopped at step {told} by a fault of dispatchviz: {failed!r}"

    @property
    def depths(self) -> list[int]:
        return self._cached("depths")

    @property
    def ends(self) -> list[int]:
        return self._cached("ends")

    def _cached(self, name: str) -> list[int]:
        known: list[int] = vars(self).get(f"_{name}", [])
        if len(known) != len(self.events):
            known = getattr(Trace, name).func(self)
            vars(self)[f"_{name}"] = known
        return known


@contextmanager
def record(program: str = "") -> Iterator[Trace]:
    """Records what runs on the model inside the ``with`` block; gives the trace, which is complete when it ends.

    ``program`` is its name in headers; without it that is the file that the ``with`` is in.

    An exception passes through: the trace keeps what led to it, and it as the last event. Raises RuntimeError if a
    recording is already running: recordings do not nest.
    """
    caller = _getframe(2)  # past contextlib's __enter__
    source = ProgramRecorder()
    source.finds_callers = True
    if caller.f_back is not None:
        source.base = id(caller.f_back), caller.f_back.f_code
    trace = Recording(program or shown_file(caller.f_code.co_filename), source)
    recorder.start(source)
    try:
        yield trace
        if is_users(caller.f_code):
            source.name_locals(caller)
    except BaseException as error:
        source.raised(error)
        raise
    finally:
        recorder.stop(source)
