"""The selection of events of a recording: those of some operators, lines, modules, calls, iterations or steps, with
their surroundings.

An event is kept if every kind of given condition selects it. Events within a selected one are selected too, and so are
those of a function that a selected line called, and the backward of Nodes that a selected module made. The events
around a kept one are kept. Some events are always kept, each within the innermost kept event around it: those that
define the numbers of later events (tensors, Nodes, names), the end of the program, and those by which kept numbers of a
tensor become invalid. Kept events are renumbered, so that the result is a trace like any other.
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

KEYS = ("op", "line", "module", "call", "iteration", "step")

ALWAYS = (ev.TensorCreated, ev.NodeCreated, ev.NameBound, ev.NameUnbound, ev.ProgramRaised)
"""The events to which others refer, and the end."""

Ranges = tuple[tuple[int, int], ...]
Marks = Sequence[tuple[int, bool]]
"""The numbers of events at which selected iterations begin (True) or end (False), in order."""


class Only(msgspec.Struct, frozen=True):
    """Conditions. Any condition of a kind may hold, and every given kind must."""

    op: tuple[str, ...] = ()
    """Names of operators: ``add``, ``aten::add``, ``aten::add.Tensor``, ``*_backward``."""
    line: tuple[tuple[str, int, int], ...] = ()
    """File (empty: any), first and last line."""
    module: tuple[str, ...] = ()
    """Files of the program (``net``, with ``.py`` or without), classes whose methods run (``Net``) or whose modules
    are called (``Linear``), and paths of modules or their ends (``net.layers.0``, ``layers.0``)."""
    call: Ranges = ()
    """First and last call, counted from 1: of the calls that are within no other call, or of those of ``op``."""
    iteration: tuple[tuple[int, int, int], ...] = ()
    """The line of a loop (0: each loop that is inside no other loop), first and last iteration, counted from 1."""
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
        loops = (f"{loop or ''}{(loop and ':') or ''}{_written(first, last)}" for loop, first, last in self.iteration)
        calls, steps = ((_written(first, last) for first, last in ranges) for ranges in (self.call, self.step))
        of_each = (self.op, lines, self.module, calls, loops, steps)
        return tuple(f"{key}={value}" for key, values in zip(KEYS, of_each, strict=True) for value in values)


_OP, _LINE, _MODULE, _CALL, _ITERATION, _STEP, _COUNTED = (1 << at for at in range(len(KEYS) + 1))
"""A bit for each kind of condition, and one for events within a call that was counted."""
_OF_ONE_EVENT = _ITERATION | _STEP
"""The conditions that depend on the number of an event, and not on the events around it."""


class EventFilter:
    """The filter of a stream of events, given part by part, that keeps those that the conditions select."""

    def __init__(self, only: Only, marks: Marks = ()) -> None:
        """Create the filter. ``marks`` may grow as long as each comes before the events that it concerns."""
        self._only, self._given = only, only.given
        self._marks, self._marks_read, self._in_iteration = marks, 0, False
        self._calls = 0
        """The number of calls so far, of those that are counted."""
        self._nodes: set[int] = set()
        """The Nodes that selected modules made."""
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
        self.seen = Seen()
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
            if selected & self._given == self._given:
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
        selected = self._selected.get(-1 if event.parent is None else event.parent, 0) & ~_OF_ONE_EVENT
        if isinstance(event, ev.SourceLine):
            if event.caller is not None:
                selected |= self._selected.get(event.caller, 0) & ~_OF_ONE_EVENT
            selected |= self._of_line(event)
        elif isinstance(event, ev.Dispatched):
            selected |= self._of_call(event, selected)
        elif isinstance(event, ev.ModuleCalled) and any(is_module(event, name) for name in self._only.module):
            selected |= _MODULE
        elif isinstance(event, ev.NodeCreated) and selected & _MODULE and _is_made_here(event):
            self._nodes.add(event.node)
        elif isinstance(event, ev.NodeStarted) and event.node in self._nodes:
            selected |= _MODULE
        selected |= self._of_number(event.seq)
        self.seen.note(event, selected, self._calls)
        return selected

    def _of_number(self, seq: int) -> int:
        """Return the conditions that hold because of an event's number."""
        while self._marks_read < len(self._marks) and self._marks[self._marks_read][0] <= seq:
            self._in_iteration = self._marks[self._marks_read][1]
            self._marks_read += 1
        in_steps = any(first <= seq <= last for first, last in self._only.step)
        return _ITERATION * self._in_iteration | _STEP * in_steps

    def _of_call(self, event: ev.Dispatched, around: int) -> int:
        """Return the conditions that hold because of a call, given those of the event around it."""
        only = self._only
        named = bool(only.op) and self._is_named(event.operator)
        selected = _OP * named
        if only.call and not around & _COUNTED and (named or not only.op):
            self._calls += 1
            selected |= _COUNTED | _CALL * any(first <= self._calls <= last for first, last in only.call)
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


class Seen:
    """The things that a filter could have selected, for the remark that it selected nothing."""

    def __init__(self) -> None:
        self.selected = 0
        """The conditions that held at some event."""
        self.modules: dict[str, None] = {}
        self.operators: dict[str, None] = {}
        self.calls = self.steps = 0

    def note(self, event: AnyEvent, selected: int, calls: int) -> None:
        """Note an event, the conditions that hold at it, and the number of counted calls so far."""
        self.selected |= selected
        self.calls, self.steps = calls, event.seq + 1
        if isinstance(event, ev.ModuleCalled):
            self.modules[event.name or event.kind] = None
        elif isinstance(event, ev.Dispatched):
            self.operators[event.operator] = None

    def remarks(self, only: Only) -> Iterator[str]:
        """Yield a sentence for each kind of condition that held at no event."""
        missed = {key for at, key in enumerate(KEYS) if getattr(only, key) and not self.selected & 1 << at}
        if "module" in missed:
            yield no_module(only, tuple(self.modules))
        if "op" in missed:
            yield f"no call of {_either(only.op)}: the program called {several(self.operators, 'no operator')}"
        if "line" in missed:
            yield f"nothing happened on {_either(text for text in only.texts if text.startswith('line='))}"
        if "call" in missed and "op" not in missed:
            yield no_call(only, self.calls)
        if "step" in missed:
            steps = _either(text for text in only.texts if text.startswith("step="))
            yield f"no {steps}: there are {self.steps:,} steps"


def no_module(only: Only, modules: Sequence[str]) -> str:
    """Return the remark that no selected module was called."""
    return f"no module {_either(only.module)}: the program called {several(modules, 'no module')}"


def no_call(only: Only, calls: int) -> str:
    """Return the remark that there were too few calls."""
    of = f" of {_either(only.op)}" if only.op else ""
    numbers = _either(_written(first, last) for first, last in only.call)
    return f"no call {numbers}{of}: the program made {calls:,} call{'s' * (calls != 1)}{of}"


def no_iteration(only: Only, most: Mapping[int, int]) -> str:
    """Return the remark that no selected iteration ran. ``most`` has the number of iterations of each loop, by its
    line.
    """
    loops = several(f"the loop on line {line} had {many:,}" for line, many in most.items())
    wanted = _either(text.partition("=")[2] for text in only.texts if text.startswith("iteration="))
    hint = ". iteration=LINE:N selects an iteration of the loop on that line"
    return f"no iteration {wanted}: {loops or 'no loop of the script ran'}{hint}"


def several(names: Iterable[str], none: str = "") -> str:
    """Return names as a list that is not too long: ``a, b, c and 12 others``."""
    found = list(names)
    first, more = ", ".join(found[:MOST_NAMES]), len(found) - MOST_NAMES
    return f"{first} and {more:,} others" if more > 0 else first or none


MOST_NAMES = 12


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


def _is_made_here(event: ev.NodeCreated) -> bool:
    """Return whether a Node is made where it appears. The AccumulateGrad of a parameter belongs to its first user."""
    return not event.known or event.name == "torch::autograd::AccumulateGrad"


def is_module(event: ev.ModuleCalled, name: str) -> bool:
    """Return whether a call of a module is one of the module or class with a name: ``net.layers.0``, ``layers.0``,
    ``Linear``.
    """
    return name in (event.name, event.kind) or event.name.endswith(f".{name}")


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
                    "module=NAME, call=N or N-M, iteration=[LINE:]N or N-M, step=N or N-M, with commas between"
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
    if key == "iteration":
        loop, _, numbers = value.rpartition(":")
        if loop and not loop.isdecimal():
            raise DispatchvizError(f"--only {key}={value}: {loop} is not the line of a loop")
        return (int(loop or 0), *_range(key, value, numbers))
    return _range(key, value, value) if key in ("call", "step") else value


def _range(key: str, value: str, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", text)
    if match is None:
        raise DispatchvizError(f"--only {key}={value}: {text or 'nothing'} is neither a number nor a range such as 3-7")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise DispatchvizError(f"--only {key}={value}: the range ends before it begins")
    return first, last
