"""A trace for other people: the names of its files reveal nothing of the user's folders.

Pages, pictures, hand-outs, logs, tables and Perfetto files are passed on. In them the program is its base name, and a
file of its folder is relative to that. Traces keep the paths, because they run the program again. Tracebacks keep them,
because Python printed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar, overload

import msgspec
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.foundation.shipped_examples import names_example

HAVE_FILES = (
    ev.SourceLine,
    ev.Warned,
    ev.ProgramRaised,
    ev.KernelEntered,
    ev.ImplEntered,
    ev.NodeStarted,
    ev.FunctionEntered,
    ev.CompileStarted,
    ev.GraphBroken,
)
"""The kinds of events that may name a file of the user."""


def without_folders(trace: Trace) -> Trace:
    """Return the trace with other names of files, or the trace itself if no name reveals a folder."""
    program = trace.header.program
    names = _names(program, trace.header.sources)
    if all(name == new for name, new in names.items()):
        return trace
    sources = {names[file]: text for file, text in trace.header.sources.items()}
    header = msgspec.structs.replace(trace.header, program=names[program], sources=sources)
    columns = trace.columns
    places = tuple(_renamed(place, names) for place in columns.line_places)
    return Trace(header, _Events(trace.events, names), trace.notice, replace(columns, line_places=places))


def new_name(program: str) -> str:
    """Return the name of a program without its folder."""
    return _names(program, {})[program]


def _names(program: str, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the new name of each file. Two files that would have the same name keep the folders that distinguish
    them.
    """
    file, *test = program.split("::", 1)  # pytest's name of a test
    names = {each: _name(each, file) for each in dict.fromkeys((file, *sources))}
    for each in names:
        for folders in range(2, len(PurePath(each).parts) + 1):
            if list(names.values()).count(names[each]) == 1:
                break
            names[each] = "/".join(PurePath(each).parts[-folders:])
    return names | {program: "::".join((names[file], *test))}


def _name(file: str, program: str) -> str:
    if names_example(file) or (file.startswith("<") and file.endswith(">")):
        return file
    path, folder = PurePath(file), PurePath(program).parent
    inside = path.is_relative_to(folder) and ".." not in path.parts
    return path.relative_to(folder).as_posix() if inside else path.name


class _Events(Sequence[ev.AnyEvent]):
    """Events with other names of files. They are made when they are read."""

    def __init__(self, events: Sequence[ev.AnyEvent], names: Mapping[str, str]) -> None:
        self._events, self._names = events, names

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[ev.AnyEvent]:
        return (self._seen(event) for event in self._events)

    def some(self, steps: Iterable[int]) -> Iterator[ev.AnyEvent]:
        """Yield the events of some steps."""
        return map(self._seen, some_events(self._events, steps))

    @overload
    def __getitem__(self, at: int) -> ev.AnyEvent: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[ev.AnyEvent]: ...
    def __getitem__(self, at: int | slice) -> ev.AnyEvent | Sequence[ev.AnyEvent]:
        found = self._events[at]
        return [self._seen(event) for event in found] if isinstance(found, Sequence) else self._seen(found)

    def _seen(self, event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.GraphCaptured):
            lines = [line._replace(file=self._names.get(line.file, line.file)) for line in event.lines]
            return msgspec.structs.replace(event, lines=tuple(lines))
        return _renamed(event, self._names) if isinstance(event, HAVE_FILES) else event


T = TypeVar("T", bound=msgspec.Struct)


def _renamed(holder: T, names: Mapping[str, str]) -> T:
    new = names.get(holder.file)  # type: ignore[attr-defined]
    return holder if new is None else msgspec.structs.replace(holder, file=new)
