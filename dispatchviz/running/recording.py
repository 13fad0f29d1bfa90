"""Recording what a piece of the user's own Python does: ``record()``, and the trace that grows meanwhile.

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
from typing import TYPE_CHECKING, Any, Literal, cast

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
from dispatchviz.running.call_sites import is_users, shown_file
from dispatchviz.running.process.children import Family, in_family
from dispatchviz.running.process.unrecorded_children import UnrecordedChildren
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.trace import Trace

EngineName = Literal["model", "torch"]
"""What a program runs on."""

About = Callable[[bool], Mapping[str, Any]]
"""What a header says of what the program runs on; asked whether a GPU may be looked for."""


def model_header(looking: bool) -> Mapping[str, str]:
    """Of the model: what stands behind ``cuda``."""
    choice = cuda_choice()
    return {"cuda": str(state_under(choice)) if looking else cuda_without_looking(choice)}


class Recording(Trace):
    """A recording in progress: its events are those recorded so far.

    ``finish`` makes it the value that it is from then on, a ``Trace`` like one that was loaded: the same object, since
    ``with record() as trace`` holds it already.
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
            _program=program, _source=source, _arguments=tuple(arguments), _only=only, _about=about or model_header
        )
        vars(self).update(_children=UnrecordedChildren(lambda: _steps_of(source)))

    if TYPE_CHECKING:
        _program: str
        _source: ProgramRecorder
        _arguments: tuple[str, ...]
        _only: Only | None
        _about: About
        _children: UnrecordedChildren

    def family(self, in_child: Callable[[], None]) -> Family:
        """The processes that the recorded program begins, which the header tells of; ``in_child`` is called in one
        that it forks."""
        return Family(in_child, self._children.forked, self._children.begun)

    def stream_to(self, path: str | Path, limit: Limit = NO_LIMIT, unbuffered: bool = False) -> TraceStream:
        """From now on events go to a file, and no more are in memory; to be called before anything is recorded.

        ``unbuffered``: the program waits until each is written.

        Raises OSError if the file cannot be written.
        """
        header = _header(self._program, self._arguments, self._source.sources, self._about(False), self._only)
        chosen = None if self._only is None else EventFilter(self._only)
        stream = TraceStream(path, self._source, header, limit, chosen)
        self._source.write_to(stream, unbuffered)
        return stream

    @property
    def _class_of_values(self) -> type[Trace]:
        return Trace

    def __deepcopy__(self, memo: object) -> Trace:  # type: ignore[override]
        """What was recorded so far."""
        make, arguments = self.__reduce__()
        return cast(Trace, make(*arguments))

    def __copy__(self) -> Trace:  # type: ignore[override]
        return self.__deepcopy__({})

    def finish(self) -> None:
        """The recording has ended: nothing is added from now on."""
        value = self._value_in_file() if self._source.stream is not None else self._value_in_memory()
        vars(self).clear()
        vars(self).update(value)
        object.__setattr__(self, "__class__", Trace)

    @property
    def program(self) -> str:
        """The program's name."""
        return self._program

    def finish_stream(self, keep: bool) -> TraceStream:
        """Complete the file; ``keep`` puts it into its place."""
        stream = self._source.stream
        assert stream is not None
        stream.finish(self._header_so_far(), keep)
        return stream

    def _value_in_memory(self) -> dict[str, Any]:
        events = self.events if self._only is None else tuple(EventFilter(self._only).keep(self.events))
        return {"events": events, "notice": self.notice, "_make_header": self._header_so_far()}

    def _value_in_file(self) -> dict[str, Any]:
        """What a stream has written; nothing in a forked child."""
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
        """What was recorded so far."""
        return tuple(self._source.events) if self._source.stream is None else self._in_file()[1]

    def __len__(self) -> int:
        return len(self._so_far())

    def __getitem__(self, at: Any) -> Any:
        return self._so_far()[at]

    def _so_far(self) -> Sequence[AnyEvent]:
        return self._source.events if self._source.stream is None else self._in_file()[1]

    def _in_file(self) -> Opened:
        """What a stream has written; ``header`` has what the file does not tell yet."""
        stream = self._source.stream
        assert stream is not None
        stream.flush()
        return opened(stream.path)

    @property
    def header(self) -> Header:
        """With the text of the files that the events so far are in."""
        return self._header_so_far()()

    def _header_so_far(self) -> Callable[[], Header]:
        self._source.settle()
        program, arguments, only = self._program, self._arguments, self._only
        sources, about = dict(sorted(self._source.sources.items())), self._about
        remarks = (*self._children.sentences(), *filter(None, [self._end_in_memory()]))
        return lambda: _header(program, arguments, sources, about(True), only, remarks)

    @property
    def notice(self) -> str:  # type: ignore[override]
        """What went wrong with the recording, or empty."""
        self._source.settle()
        return _stopped_by_fault(self._source.failed, len(self._source.builder.events)) or self._end_in_memory()

    def _end_in_memory(self) -> str:
        source = self._source
        return end_before(len(source.builder.events), REACHED_IN_MEMORY) if source.full else ""

    @property
    def columns(self) -> Columns:
        """Of the events so far."""
        if self._source.stream is not None:
            return self._in_file()[1].columns
        from dispatchviz.core.record.trace_file.column_builder import columns_of

        return columns_of(self.events)


def _steps_of(source: ProgramRecorder) -> int:
    """How many steps a recording has so far."""
    source.settle()
    return len(source.builder.events) if source.stream is None else source.stream.events


def _stopped_by_fault(failed: Exception | None, step: int) -> str:
    return "" if failed is None else f"recording stopped at step {step} by a fault of dispatchviz: {failed!r}"


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
        **about,
        program=program,
        arguments=arguments,
        only=() if only is None else only.texts,
        rank=int(rank) if rank.isdecimal() else 0,
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
    engine: EngineName = "model",
) -> Iterator[Trace]:
    """Record what runs on the model inside the ``with`` block; give the trace, which is complete when it ends.

    ``engine="torch"`` records what runs on the installed PyTorch instead, 2.6 or later, unmodified. ``program`` is its
    name in headers; without it that is the file that the ``with`` is in. ``only`` keeps what it selects, in the end:
    ``{"op": "add", "line": "3-7", "module": "net", "step": [1, 2]}``, as ``--only`` does. ``save`` is a file that the
    trace goes to while the block runs, of the kind that its suffix asks for, so that a process that is killed leaves it
    and memory does not grow; until it is complete it is beside that name (``run.part-4242.dvtrace``). ``limit`` is a
    number of events, or the size of the file (``"500MB"``), after which nothing more is recorded; ``trace.notice`` then
    says so, as it does if the file cannot be written to the end. Without one a file grows to 4 GB, or half of the
    disk's free space if that is less, and a recording that goes to no file ends after about five million events;
    ``"none"`` lifts that. ``hashes`` records a hash of the numbers of each kernel's result, by which ``dispatchviz
    diff`` tells where the numbers of two runs part; that takes about as long as reading them. ``values`` records the
    numbers of tensors of so many elements at most, as text, whenever they may have changed.

    An exception passes through: the trace keeps what led to it, and it as the last event. Raises RuntimeError if a
    recording is already running: recordings do not nest; DispatchvizError if ``only`` or ``limit`` means nothing, or
    the file cannot be written, or there is no PyTorch for ``engine``.
    """
    caller = _getframe(2)  # past contextlib's __enter__
    with recorder.only_recording():
        yield from _recorded(caller, program, only, save, limit, hashes, values, engine)


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
    """The recording itself; no other one is running."""
    source, watching, about = _listening(engine, hashes, values)
    if caller.f_back is not None:
        source.base = id(caller.f_back), caller.f_back.f_code
    kept = None if only is None else only_from(only)
    trace = Recording(program or shown_file(caller.f_code.co_filename), source, only=kept, about=about)
    with _in_file(trace, save, limit), in_family(trace.family(lambda: None)), watching:
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
            trace.finish()


def _listening(
    engine: EngineName, hashes: bool, values: int
) -> tuple[ProgramRecorder, AbstractContextManager[None], About]:
    """What records, what tells it inside the block, and what a header says of that."""
    if engine == "model":
        source = ProgramRecorder()
        source.hashes, source.numbers = hashes, values
        return source, nullcontext(), model_header
    from dispatchviz.live.torch_engine import TorchEngine

    if hashes or values:
        raise DispatchvizError("hashes and values are of the model, leave them out with engine='torch'")
    torch = TorchEngine()
    watch = torch.recorder()
    watch.origin = "known before"
    return watch, torch.watching(watch), torch.header


@contextmanager
def _in_file(trace: Recording, save: str | Path | None, limit: int | str | None) -> Iterator[None]:
    """What the block records goes to a file: the one to save, or for a limit one that nobody sees."""
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
