"""Recording what a piece of the user's own Python does: ``record()``, and the recorder that knows the user's lines and
variable names.

Not here: how events are made (``core/recorder.py``), running a whole script on the model (``program.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from dispatchviz.call_sites import is_users, shown_file, source_of, statement_starts, user_frame, user_place
from dispatchviz.core import recorder
from dispatchviz.core.backend import cuda_state
from dispatchviz.core.tensor import Tensor
from dispatchviz.core.trace import Header
from dispatchviz.names import Names
from dispatchviz.trace import Trace


class ProgramRecorder(recorder.Recorder):
    """Also tells which of the user's lines calls in and which variables name which tensors.

    A script compiled by ``lines.py`` announces its lines and names itself and is listed in ``announced``; for all
    other files of the user the calling frame is looked at whenever a binding is entered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, str] = {}
        self.announced: dict[str, str] = {}
        """File name as in the code object, to the name that the trace shows."""
        self.names = Names(self)
        self._at = ("", 0)
        self._instruction: tuple[CodeType | None, int] = (None, -1)
        self._written = ""

    def wrote(self, text: str) -> None:
        """The program writes to its standard output; told in pieces that end where a line ends or another begins."""
        self._written += text
        if text.endswith("\n"):
            self.all_written()

    def all_written(self) -> None:
        """Tells what was written and is not told yet."""
        text, self._written = self._written, ""
        if text:
            self.printed(text)

    def line_reached(self, file: str, line: int) -> None:
        """The user's program is at a line of a file, named as the trace shows it."""
        self.all_written()
        self._at = (file, line)
        self.source_line(file, line)

    def binding_entered(
        self,
        function: str,
        pytorch_function: str,
        signature: str,
        signatures_tried: int,
        arguments: Iterable[tuple[str, Any]],
        operator: str,
    ) -> None:
        """The line that calls, then the binding."""
        arguments = list(arguments)
        frame = user_frame()
        if frame is not None:
            self._arrive(frame)
            if frame.f_code.co_filename not in self.announced:
                self.name_locals(frame, [value for _, value in arguments])
        super().binding_entered(function, pytorch_function, signature, signatures_tried, arguments, operator)

    def _arrive(self, frame: FrameType) -> None:
        """Tells the caller's line, unless it is the one told last."""
        code = frame.f_code
        announced = code.co_filename in self.announced
        place = self._place(code.co_filename, frame.f_lineno)
        last_code, last = self._instruction
        again = not announced and last_code is code and frame.f_lasti <= last
        self._instruction = (code, frame.f_lasti)
        if place != self._at or again:
            self.line_reached(*place)

    def _place(self, file: str, line: int) -> tuple[str, int]:
        if file in self.announced:
            shown = self.announced[file]
        else:
            shown = shown_file(file)
            self.sources.setdefault(shown, source_of(file))
        return shown, statement_starts(self.sources[shown]).get(line, line)

    def name_locals(self, frame: FrameType, arguments: Sequence[object] = ()) -> None:
        """Tells the names of tensors in a frame that this recording has met, or that are arguments now."""
        scope = "" if frame.f_code.co_name == "<module>" else frame.f_code.co_qualname
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, Tensor) and (self._has_met(value) or any(value is one for one in arguments)):
                self.names.bind(scope, name, value)

    def _has_met(self, tensor: Tensor) -> bool:
        return tensor._number >> 32 == self._epoch

    def raised(self, error: BaseException) -> tuple[str, int]:
        """An exception leaves the program: the last event. Gives the user's file and line that it came from."""
        self.all_written()
        file, line = user_place(error.__traceback__)
        shown = self.announced.get(file) or (shown_file(file) if file else "")
        self._open.seq = self._enclosing_line()
        self.program_raised(error, shown, line)
        return shown, line

    def _enclosing_line(self) -> int | None:
        """The open line of the program; whatever else was open is over, an interrupt may have come anywhere."""
        seq = self._open.seq
        while seq is not None and self.events[seq].parent is not None:
            seq = self.events[seq].parent
        return seq


class Recording(Trace):
    """The trace of what runs inside ``with record()``; it grows until the block ends."""

    def __init__(self, program: str, source: ProgramRecorder) -> None:
        super().__init__(_header(program, source.sources), source.events)  # both grow while it records

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
    caller = sys._getframe(2)  # past contextlib's __enter__
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
        finish(trace, source)


def finish(trace: Trace, source: ProgramRecorder) -> None:
    """Gives a trace the header and the notice of a recording that has ended."""
    trace.header = _header(trace.header.program, dict(sorted(source.sources.items())))
    if source.failed is not None:
        trace.notice = f"recording stopped at step {len(source.events)} by a fault of dispatchviz: {source.failed!r}"


def _header(program: str, sources: dict[str, str]) -> Header:
    return Header(cuda=str(cuda_state()), program=program, sources=sources)
