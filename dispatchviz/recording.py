"""Recording what a piece of the user's own Python does: ``record()``, and the recorder that knows the user's lines and
variable names.

Not here: how events are made (``core/recorder.py``), running a whole script on the model (``program.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from sys import _getframe
from types import CodeType, FrameType
from typing import Any

from msgspec import Struct

from dispatchviz.call_sites import is_users, line_of, shown_file, source_of, statement_starts, user_frame, user_place
from dispatchviz.core import recorder
from dispatchviz.core.backend import cuda_state
from dispatchviz.core.binding import Binding, Plan
from dispatchviz.core.events import AnyEvent
from dispatchviz.core.notes import Recorder, catches_itself
from dispatchviz.core.recorder import PLAIN
from dispatchviz.core.tensor import Tensor
from dispatchviz.core.trace import Header
from dispatchviz.core.transcript import Transcript
from dispatchviz.names import Names
from dispatchviz.trace import Trace


class ProgramTranscript(Transcript):
    """Also finds out which line a binding was called from, and tells it unless it is the one told last."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, str] = {}
        self.announced: dict[str, str] = {}
        """File name as in the code object, to the name that the trace shows; of scripts that tell their lines."""
        self._at = ("", 0)
        self._instruction: tuple[CodeType | None, int] = (None, -1)

    def source_line(self, file: str, line: int) -> None:
        self._at = (file, line)
        super().source_line(file, line)

    def arrived(self, code: CodeType, instruction: int) -> None:
        """A binding is about to be entered from an instruction of the user's code."""
        announced = code.co_filename in self.announced
        place = self._place(code, instruction)
        last_code, last = self._instruction
        again = not announced and last_code is code and instruction <= last
        self._instruction = (code, instruction)
        if place != self._at or again:
            self.source_line(*place)

    def binding_called_again(self, how: tuple[CodeType, int, Binding, Plan, tuple[Any, ...]]) -> None:
        """Both in one: an instruction calls the same binding with the same tensors."""
        code, instruction, binding, plan, facts = how
        self.arrived(code, instruction)
        self.binding_called(binding, plan, facts)

    def _place(self, code: CodeType, instruction: int) -> tuple[str, int]:
        line = line_of(code, instruction)
        if code.co_filename in self.announced:
            shown = self.announced[code.co_filename]
        else:
            shown = shown_file(code.co_filename)
            self.sources.setdefault(shown, source_of(code.co_filename))
        return shown, statement_starts(self.sources[shown]).get(line, line)


class _Site(Struct, gc=False):
    """How an instruction of the user's called a binding the last time; other tensors may have other names."""

    code: CodeType
    """Whose ``id`` stands for it: kept alive here."""
    plan: Plan
    serials: tuple[int, ...]
    first: int
    """The first serial number, -1 if there is none."""
    second: int
    note: tuple[Any, ...] = ()
    """What to note if it does so again, once it has."""


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

    @property
    def sources(self) -> dict[str, str]:
        """Text of the user's files by name, as far as the trace speaks of them."""
        return self._program.sources

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
                and (
                    args[0]._number == site.first and args[1]._number == site.second
                    if len(args) == 2
                    else site.serials == tuple([arg._number for arg in args])
                )
            ):
                self._last_error = None
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
            self._sites[id(frame.f_code), frame.f_lasti] = _Site(frame.f_code, plan, serials, first, second)

    def _called_with_others(self, site: _Site, frame: FrameType, binding: Binding, args: tuple[Any, ...]) -> None:
        """The same instruction, with other tensors."""
        self._last_error = None
        code, instruction = frame.f_code, frame.f_lasti
        self.note(("arrived", code, instruction))
        if code.co_filename not in self.announced:
            self._name_locals(frame, args)
        first = self.first_tensor
        serials = tuple([arg._number if arg._number >= first else self.serial(arg) for arg in args])
        self.note(("binding_called", binding, site.plan, serials))
        site.serials, site.note = serials, ()
        site.first, site.second = serials if len(serials) == 2 else (-1, -1)

    def _again(self, site: _Site, frame: FrameType, binding: Binding) -> tuple[Any, ...]:
        """What to note from now on if the instruction does the same."""
        how = site.code, frame.f_lasti, binding, site.plan, site.serials
        site.note = "binding_called_again", how
        return site.note

    def _arrive(self, values: Sequence[Any]) -> FrameType | None:
        """Tells the user's line and, unless the program does that itself, its names; gives its frame."""
        frame = user_frame()
        if frame is not None:
            self.note(("arrived", frame.f_code, frame.f_lasti))
            if frame.f_code.co_filename not in self.announced:
                self._name_locals(frame, values)
        return frame

    def name_locals(self, frame: FrameType) -> None:
        """Tells the names of tensors in a frame that this recording has met."""
        self._name_locals(frame, ())

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


_ALL_WRITTEN = ("all_written",)


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
