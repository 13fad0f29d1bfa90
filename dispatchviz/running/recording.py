"""Recording of a piece of the user's own Python: ``record()``, and the trace that grows meanwhile.

Not here: how events are made (``core/record``), the recorder of the user's lines and names (``program_recorder.py``),
running a whole script on the model (``program.py``).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from sys import _getframe
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from dispatchviz.core.device.array_library import cuda_choice, cuda_without_looking, state_under
from dispatchviz.core.record.event_filter import EventFilter, Only, only_from
from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.recording_limit import NO_LIMIT, REACHED_IN_MEMORY, Limit, end_before, read_limit
from dispatchviz.core.record.trace_file import Header, TraceError
from dispatchviz.core.record.trace_file.columns import Columns
from dispatchviz.core.record.trace_file.reader import opened, opened_later
from dispatchviz.core.record.trace_file.unindexed_file import Opened
from dispatchviz.core.record.trace_stream import TraceStream
from dispatchviz.core.seam import recorder
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.call_sites import is_users, read_met_files, shown_file
from dispatchviz.running.engine_choice.requested_engine import EngineName as EngineName
from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
from dispatchviz.running.engine_choice.used_torch import engine_used_in
from dispatchviz.running.process.children import Family, Instead, in_family
from dispatchviz.running.process.unrecorded_children import UnrecordedChildren
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.trace import Trace

About = Callable[[bool], Mapping[str, Any]]
"""A function that returns the facts about an engine for a header. Its argument says whether it may look for a GPU."""


def model_header(looking: bool) -> Mapping[str, str]:
    """Return the header facts for the model: the device behind ``cuda``."""
    choice = cuda_choice()
    return {"cuda": str(state_under(choice)) if looking else cuda_without_looking(choice)}


class Recording(Trace):
    """A recording in progress. Its events are those recorded so far.

    ``finish`` makes it a complete ``Trace``, like one that was loaded. It stays the same object, because ``with
    record() as trace`` already holds it.
    """

    def __init__(
        self,
        program: str,
        source: ProgramRecorder,
        arguments: Sequence[str] = (),
        only: Only | None = None,
        about: About | None = None,
    ) -> None:
        vars(self).update(
            _chosen=None,
            _program=program,
            _source=source,
            _arguments=tuple(arguments),
            _only=only,
            _about=about or model_header,
        )
        vars(self).update(_children=UnrecordedChildren(lambda: _steps_of(source)))

    if TYPE_CHECKING:
        _program: str
        _source: ProgramRecorder
        _arguments: tuple[str, ...]
        _only: Only | None
        _chosen: EventFilter | None
        _about: About
        _children: UnrecordedChildren

    def family(
        self, in_child: Callable[[], None], instead: Instead = lambda args, executables: None, ranks: bool = False
    ) -> Family:
        """Return the processes that the recorded program begins, which the header lists. ``in_child`` is called in a
        child that it forks. With ``ranks`` children are recorded, new Pythons by the command line that ``instead``
        returns.
        """
        return Family(in_child, self._children.forked, self._children.begun, instead, ranks)

    def in_child(self) -> Recording:
        """Return the recording of a forked child, in which nothing is recorded so far."""
        return Recording(self._program, self._source, self._arguments, self._only, self._about)

    def stream_to(self, path: str | Path, limit: Limit = NO_LIMIT, unbuffered: bool = False) -> TraceStream:
        """Send further events to a file, and keep no more in memory. Call this before anything is recorded.

        With ``unbuffered`` the program waits until each event is written. Raise OSError if the file cannot be written.
        """
        chosen = self._source.chosen(self._only)
        vars(self)["_chosen"] = chosen
        stream = TraceStream(path, self._source, self._first_header(), limit, chosen)
        self._source.write_to(stream, unbuffered)
        self._source.engine_known = lambda: stream.renew(self._first_header())
        return stream

    def _first_header(self) -> Header:
        return _header(self._program, self._arguments, self._source.sources, self._about(False), self._only)

    def watch_rank(self, met: Callable[[int], object]) -> None:
        """Call a function with the rank of this process in a distributed program, whenever it is seen."""
        self._source.met_rank = met

    @property
    def _class_of_values(self) -> type[Trace]:
        return Trace

    def __deepcopy__(self, memo: object) -> Trace:  # type: ignore[override]
        """Return a trace of the events so far."""
        make, arguments = self.__reduce__()
        return cast(Trace, make(*arguments))

    def __copy__(self) -> Trace:  # type: ignore[override]
        return self.__deepcopy__({})

    def finish(self) -> None:
        """End the recording. Nothing is added afterwards."""
        if self._source.stream is not None:
            value = self._value_in_file()
        else:
            value = self._value_made_later() or self._value_in_memory()
        vars(self).clear()
        vars(self).update(value)
        object.__setattr__(self, "__class__", Trace)

    @property
    def program(self) -> str:
        """The program's name."""
        return self._program

    def finish_stream(self, keep: bool) -> TraceStream:
        """Complete the file. ``keep`` moves it to its place."""
        stream = self._source.stream
        assert stream is not None
        stream.finish(self._header_so_far(), keep)
        return stream

    def _value_made_later(self) -> dict[str, Any] | None:
        """Return the parts that a copy of this object makes when one of them is needed.

        Return None if they would then be others, or if they are needed anyway: events of an installed PyTorch depend on
        what it has registered, those of Functions on classes that the program may change, and remarks on a filter
        depend on the events.
        """
        source, folder = self._source, _working_folder()
        if self._only is not None or not source.hears_machine or source.classes_may_change or not folder:
            return None
        source.read_later(folder)
        read_met_files()
        over = object.__new__(Recording)
        vars(over).update(vars(self))
        later = _Later(over)
        return {
            "_make_events": lambda: later.value["events"],
            "_make_notice": lambda: later.value["notice"],
            "_make_header": lambda: later.value["_make_header"](),
        }

    def _value_in_memory(self) -> dict[str, Any]:
        chosen = self._source.chosen(self._only)
        vars(self)["_chosen"] = chosen
        events = self.events if chosen is None else tuple(chosen.keep(self.events))
        return {"events": events, "notice": self.notice, "_make_header": self._header_so_far()}

    def _value_in_file(self) -> dict[str, Any]:
        """Return the parts that a stream has written; nothing in a forked child."""
        header, stream = self._header_so_far(), self.finish_stream(keep=False)
        if stream.given_up:
            return {"events": (), "notice": "", "_make_header": header}
        notice = stream.end or _stopped_by_fault(self._source.failed, stream.events)
        try:
            read = opened_later(stream.path)
            if stream.header is not None:
                return {"header": stream.header, "notice": notice, "_make_events": lambda: read()[1]}
            written, events, cut_off = read()
        except TraceError as error:  # the disk was full from the beginning
            return {"events": (), "notice": stream.stopped or str(error), "_make_header": header}
        return {"header": written, "events": events, "notice": notice or cut_off}

    @property
    def events(self) -> Sequence[AnyEvent]:
        """The events so far."""
        return tuple(self._source.events) if self._source.stream is None else self._in_file()[1]

    def __len__(self) -> int:
        return len(self._events_so_far())

    def __getitem__(self, at: Any) -> Any:
        return self._events_so_far()[at]

    def _events_so_far(self) -> Sequence[AnyEvent]:
        return self._source.events if self._source.stream is None else self._in_file()[1]

    def _in_file(self) -> Opened:
        """Return the opened file with the events that a stream has written. ``header`` has the facts that the file does
        not have yet.
        """
        stream = self._source.stream
        assert stream is not None
        stream.flush()
        return opened(stream.path)

    @property
    def header(self) -> Header:
        """The header, with the text of the files that the events so far refer to."""
        return self._header_so_far()()

    def _header_so_far(self) -> Callable[[], Header]:
        self._source.settle()
        program, arguments, only = self._program, self._arguments, self._only
        sources, about = dict(sorted(self._source.sources.items())), self._about
        missed = () if only is None else self._source.missed(only, self._chosen)
        remarks = (*missed, *self._children.sentences(), *filter(None, [self._end_in_memory()]))
        return lambda: _header(program, arguments, sources, about(True), only, remarks)

    @property
    def notice(self) -> str:
        """The problem with the recording, or an empty text."""
        self._source.settle()
        fault = _stopped_by_fault(self._source.failed, len(self._source.builder.events))
        return fault or (INTERRUPTED if self._source.interrupted else self._end_in_memory())

    def _end_in_memory(self) -> str:
        source = self._source
        return end_before(len(source.builder.events), REACHED_IN_MEMORY) if source.full else ""

    @property
    def columns(self) -> Columns:
        """The columns of the events so far."""
        if self._source.stream is not None:
            return self._in_file()[1].columns
        from dispatchviz.core.record.trace_file.column_builder import columns_of

        return columns_of(self.events)


class _Later:
    """A recording that has ended, and the parts of its trace once they are made."""

    def __init__(self, over: Recording) -> None:
        self._over: Recording | None = over
        self._value: dict[str, Any] = {}
        recorder.unread.add(self)

    def registrations_change(self) -> None:
        """Read the notes, which refer to the registrations so far."""
        over = self._over
        if over is not None:
            over._source.registrations_change()
        recorder.unread.discard(self)

    @property
    def value(self) -> dict[str, Any]:
        """The parts. They are the same if two threads make them."""
        over = self._over
        if over is not None:
            self._value = over._value_in_memory()
            self._over = None
            recorder.unread.discard(self)
        return self._value


def _working_folder() -> str:
    """Return the working directory, or an empty text if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _steps_of(source: ProgramRecorder) -> int:
    """Return the number of steps that a recording has so far."""
    source.settle()
    return len(source.builder.events) if source.stream is None else source.stream.events


INTERRUPTED = "events are missing at the end, because something interrupted the making of the events"


def _stopped_by_fault(failed: Exception | None, step: int) -> str:
    return "" if failed is None else f"recording stopped at step {step} because of a bug in dispatchviz: {failed!r}"


def _header(
    program: str,
    arguments: tuple[str, ...],
    sources: Mapping[str, str],
    about: Mapping[str, Any],
    only: Only | None,
    remarks: tuple[str, ...] = (),
) -> Header:
    rank = os.environ.get("RANK", "")
    return Header(
        **{"rank": int(rank) if rank.isdecimal() else 0, **about},
        program=program,
        arguments=arguments,
        only=() if only is None else only.texts,
        remarks=remarks,
        sources=sources,
    )


@contextmanager
def record(
    program: str = "",
    only: Mapping[str, object] | None = None,
    save: str | Path | None = None,
    limit: int | str | None = None,
    hashes: bool = False,
    values: int = 0,
    engine: RequestedEngine = "auto",
) -> Iterator[Trace]:
    """Record the code inside the ``with`` block. Yield the trace, which is complete when the block ends.

    ``engine="model"`` records the model, ``"torch"`` an installed, unmodified PyTorch, 2.6 or later. ``"auto"`` records
    an installed PyTorch if the code around the ``with`` has imported it as ``torch``, and otherwise the model.
    ``program`` is the name in headers, by default the file of the ``with``. ``only`` selects the events that are kept
    in the end: ``{"op": "add", "line": "3-7", "module": "net", "call": 17, "step": [1, 2]}``, like ``--only``. On an
    installed PyTorch, with a module, an operator or a call, only that part is watched, and the rest runs at full speed.
    ``save`` is a file to which the trace is written while the block runs, in the format of its suffix. So a process
    that is killed leaves a trace, and memory does not grow; until the file is complete it is beside that name
    (``run.part-4242.dvtrace``). ``limit`` is a number of events or a size of the file (``"500MB"``) after which
    recording stops; ``trace.notice`` then says so, and also if the file could not be written to the end. Without a
    limit a file grows to 4 GB, or half of the disk's free space if that is less, and a recording without a file ends
    after about five million events; ``"none"`` lifts that. ``hashes`` records a hash of the numbers of each kernel's
    result, with which ``dispatchviz diff`` finds where the numbers of two runs begin to differ; this takes about as
    long as reading the numbers. ``values`` records the numbers of tensors with at most this number of elements, as
    text, whenever they may have changed.

    An exception passes through; the trace keeps the events before it, and the exception as the last event. Raise
    RuntimeError if a recording is already running, because recordings do not nest. Raise DispatchvizError if ``only``
    or ``limit`` is invalid, if the file cannot be written, or if there is no PyTorch for ``engine``.
    """
    caller = _getframe(2)  # past contextlib's __enter__
    with recorder.only_recording():
        name = engine_used_in(caller) if engine == "auto" else engine
        yield from _recorded(caller, program, only, save, limit, hashes, values, name)


def _recorded(
    caller: FrameType,
    program: str,
    only: Mapping[str, object] | None,
    save: str | Path | None,
    limit: int | str | None,
    hashes: bool,
    values: int,
    engine: EngineName,
) -> Iterator[Trace]:
    """Make the recording. No other one is running."""
    source, watching, about = _listening(engine, hashes, values)
    if caller.f_back is not None:
        source.base = id(caller.f_back), caller.f_back.f_code
    kept = None if only is None else only_from(only)
    if kept is not None:
        if kept.iteration:
            raise DispatchvizError(
                "record(only=...) cannot count iterations: write the with statement inside the loop, or run the script "
                "with dispatchviz run --only iteration=3-5"
            )
        source.record_part(kept)
    trace = Recording(program or shown_file(caller.f_code.co_filename), source, only=kept, about=about)
    with _in_file(trace, save, limit), in_family(trace.family(lambda: None)), watching:
        recorder.start(source)
        try:
            yield trace
            if is_users(caller.f_code) and recorder.listening is source:
                source.name_locals(caller)
        except BaseException as error:
            source.correct(error)
            source.raised(error)
            raise
        finally:
            recorder.stop(source)
            trace.finish()


def _listening(
    engine: EngineName, hashes: bool, values: int
) -> tuple[ProgramRecorder, AbstractContextManager[None], About]:
    """Return the recorder, a context manager that connects it, and the facts about both for a header."""
    if engine == "model":
        source = ProgramRecorder()
        source.hashes, source.numbers = hashes, values
        return source, nullcontext(), model_header
    from dispatchviz.live.torch_engine import TorchEngine

    torch = TorchEngine()
    watch = torch.recorder()
    watch.hashes, watch.numbers = hashes, values
    watch.origin = "known before"
    return watch, torch.watching(watch), torch.header


@contextmanager
def _in_file(trace: Recording, save: str | Path | None, limit: int | str | None) -> Iterator[None]:
    """Write the recording of the block to a file: the file to save or, for a limit, a temporary one."""
    if save is None and limit is None:
        yield
        return
    at_most = read_limit(None if limit is None else str(limit))
    path = Path(tempfile.gettempdir(), "recording.dvtrace") if save is None else os.path.abspath(save)
    try:
        stream = trace.stream_to(path, at_most)
    except OSError as error:
        raise DispatchvizError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        yield
    finally:
        (stream.discard if save is None else stream.keep)()
