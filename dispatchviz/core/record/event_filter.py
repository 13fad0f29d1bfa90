"""The selection of events of a recording: those of some operators, lines, modules or steps, with their surroundings.

An event is kept if every kind of given condition selects it. Events within a selected one are selected too, and so are
those of a function that a selected line called. The events around a kept one are kept. Some events are always kept,
each within the innermost kept event around it: those that define the numbers of later events (tensors, Nodes, names),
the end of the program, and those by which kept numbers of a tensor become invalid. Kept events are renumbered, so that
the result is a trace like any other.

Not here: the notation of conditions on a command line (``read_only``, below, reads one), the source of events.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import AnyEvent, Container
from dispatchviz.foundation.errors import DispatchvizError

KEYS = ("op", "line", "module", "step")

ALWAYS = (ev.TensorCreated, ev.NodeCreated, ev.NameBound, ev.NameUnbound, ev.ProgramRaised)
"""The events to which others refer, and the end."""

Ranges = tuple[tuple[int, int], ...]


class Only(msgspec.Struct, frozen=True):
    """Conditions. Any condition of a kind may hold, and every given kind must."""

    op: tuple[str, ...] = ()
    """Names of operators: ``add``, ``aten::add``, ``aten::add.Tensor``, ``*_backward``."""
    line: tuple[tuple[str, int, int], ...] = ()
    """File (empty: any), first and last line."""
    module: tuple[str, ...] = ()
    """Files of the program (``net``, with ``.py`` or without), classes whose methods run (``Net``) or whose modules
    are called (``Linear``), and paths of modules (``net.layers.0``)."""
    step: Ranges = ()
    """First and last step, counted as if all events were kept."""

    @property
    def given(self) -> int:
        """A bit for each given kind of condition."""
        return sum(1 << at for at, key in enumerate(KEYS) if getattr(self, key))

    @property
    def texts(self) -> tuple[str, ...]:
        """The conditions as ``read_only`` reads them."""
        lines = (f"{file}{file and ':'}{_written(first, last)}" for file, first, last in self.line)
        of_each = (self.op, lines, self.module, (_written(first, last) for first, last in self.step))
        return tuple(f"{key}={value}" for key, values in zip(KEYS, of_each, strict=True) for value in values)


_OP, _LINE, _MODULE, _STEP = (1 << at for at in range(len(KEYS)))


class EventFilter:
    """The filter of a stream of events, given part by part, that keeps those that the conditions select."""

    def __init__(self, only: Only) -> None:
        self._only, self._given = only, only.given
        self._selected: dict[int, int] = {}
        """The conditions that hold at each container."""
        self._held: dict[int, AnyEvent] = {}
        """Events that are kept as soon as one within them is."""
        self._numbers: dict[int, int] = {}
        """The new number of each kept container."""
        self._outer: dict[int, int | None] = {}
        """The event around each container."""
        self._names: dict[str, bool] = {}
        self._tensors: set[int] = set()
        self._storages: set[int] = set()
        """The tensors whose numbers were kept, and the storages of the numbers."""
        self.kept = 0
        """The number of events kept so far."""

    def keep(self, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
        """Yield the kept ones among the next events, each after the events around it."""
        for event in events:
            selected = self._conditions(event)
            is_container = isinstance(event, Container)
            if is_container:
                self._selected[event.seq], self._outer[event.seq] = selected, event.parent
                self._held[event.seq] = event
            if selected == self._given:
                yield from self._with_outer(event)
            elif isinstance(event, ALWAYS) or self._invalidates(event):
                yield self._numbered(event, self._kept_around(event.parent))

    def _invalidates(self, event: AnyEvent) -> bool:
        """Return whether kept numbers become invalid."""
        if not isinstance(event, ev.NumbersRecorded):
            return False
        return event.last or event.tensor in self._tensors or event.storage in self._storages

    def forget(self, needed: Collection[int]) -> None:
        """Forget all other containers: no later event is within them, or called from them."""
        for known in (self._selected, self._held, self._numbers, self._outer):
            for seq in [seq for seq in known if seq not in needed]:
                del known[seq]

    def _with_outer(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """Yield an event after those around it, and the lines that called it, that were not kept yet."""
        waiting = [event]
        while waiting:
            missing = self._not_yet_kept(waiting[-1])
            if missing is not None:
                waiting.append(missing)
            else:
                one = waiting.pop()
                yield self._numbered(one, self._kept_around(one.parent))

    def _not_yet_kept(self, event: AnyEvent) -> AnyEvent | None:
        """Return the first event around it, or that called it, that can be kept and is not yet."""
        caller = event.caller if isinstance(event, ev.SourceLine) else None
        there = [seq for seq in (event.parent, caller) if seq is not None and seq in self._held]
        return self._held[min(there)] if there else None

    def _kept_around(self, seq: int | None) -> int | None:
        while seq is not None and seq not in self._numbers:
            seq = self._outer.get(seq)
        return None if seq is None else self._numbers[seq]

    def _numbered(self, event: AnyEvent, parent: int | None) -> AnyEvent:
        number, self.kept = self.kept, self.kept + 1
        if isinstance(event, ev.NumbersRecorded):
            self._tensors.add(event.tensor)
            self._storages.add(event.storage)
        if isinstance(event, Container):
            self._numbers[event.seq] = number
            self._held.pop(event.seq, None)
        if isinstance(event, ev.SourceLine) and event.caller is not None:
            caller = self._numbers.get(event.caller)
            return msgspec.structs.replace(event, seq=number, parent=parent, caller=caller)
        return msgspec.structs.replace(event, seq=number, parent=parent)

    # -- conditions ---------------------------------------------------------------------------------------------------

    def _conditions(self, event: AnyEvent) -> int:
        """Return a bit for each condition that holds at an event."""
        selected = self._selected.get(-1 if event.parent is None else event.parent, 0) & ~_STEP
        if isinstance(event, ev.SourceLine):
            if event.caller is not None:
                selected |= self._selected.get(event.caller, 0) & ~_STEP
            selected |= self._of_line(event)
        elif isinstance(event, ev.Dispatched) and self._only.op and self._is_named(event.operator):
            selected |= _OP
        elif isinstance(event, ev.ModuleCalled) and not {event.name, event.kind}.isdisjoint(self._only.module):
            selected |= _MODULE
        if any(first <= event.seq <= last for first, last in self._only.step):
            selected |= _STEP
        return selected

    def _of_line(self, event: ev.SourceLine) -> int:
        only = self._only
        selected = 0
        if any(first <= event.line <= last and is_file(event.file, file) for file, first, last in only.line):
            selected |= _LINE
        if any(is_file(event.file, name) or name in event.function.split(".")[:-1] for name in only.module):
            selected |= _MODULE
        return selected

    def _is_named(self, operator: str) -> bool:
        known = self._names.get(operator)
        if known is None:
            known = self._names[operator] = any(names_operator(name, operator) for name in self._only.op)
        return known


def names_operator(name: str, operator: str) -> bool:
    """Return whether ``add`` or ``aten::add`` or ``add.Tensor`` or ``a*`` names ``aten::add.Tensor``."""
    short = operator.partition("::")[2] or operator
    forms = {operator, short, operator.partition(".")[0], short.partition(".")[0]}
    return any(fnmatchcase(form, name) for form in forms)


def is_file(file: str, name: str) -> bool:
    """Return whether a file of the program has a name, given with or without its folders and ``.py``."""
    path = PurePosixPath(file)
    return not name or name in (file, path.name, path.stem) or file.endswith(f"/{name}")


# -- conditions as text -----------------------------------------------------------------------------------------------


def _written(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def read_only(texts: Sequence[str]) -> Only:
    """Read the conditions of ``--only``: ``op=add,line=3-7`` and the like, each given once or several times.

    Raise DispatchvizError, with the possible conditions, for one that means nothing.
    """
    found: dict[str, list[object]] = {key: [] for key in KEYS}
    for text in texts:
        for part in text.split(","):
            key, sign, value = (word.strip() for word in part.partition("="))
            if not sign or key not in KEYS or not value:
                raise DispatchvizError(
                    f"--only {part.strip() or 'with nothing'} is not a condition: write op=NAME, line=[FILE:]N or N-M, "
                    "module=NAME, step=N or N-M, with commas between"
                )
            found[key].append(_condition(key, value))
    return _only(found)


def only_from(conditions: Mapping[str, object]) -> Only:
    """Read the conditions of a mapping: ``{"op": "add", "line": [3, "7-9"]}``."""
    texts = []
    for key, value in conditions.items():
        values = value if isinstance(value, list | tuple | set | range) else [value]
        texts += [f"{key}={one}" for one in values]
    return read_only(texts)


def _only(found: Mapping[str, list[object]]) -> Only:
    return msgspec.convert({key: tuple(values) for key, values in found.items()}, Only)


def _condition(key: str, value: str) -> object:
    if key == "line":
        file, _, lines = value.rpartition(":")
        return (file, *_range(key, value, lines))
    return _range(key, value, value) if key == "step" else value


def _range(key: str, value: str, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", text)
    if match is None:
        raise DispatchvizError(f"--only {key}={value}: {text or 'nothing'} is neither a number nor a range such as 3-7")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise DispatchvizError(f"--only {key}={value}: the range ends before it begins")
    return first, last
