"""The state of the thread as of a step: its guards, their changes, the active modes.

Guards are found from the events around the step, the rest from the last event that has it. Before the first such event
the state is that of a new thread, with which most recordings begin.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice
from weakref import WeakKeyDictionary

from msgspec import Struct

from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import BACKENDS
from dispatchviz.explain.trace_index.lookups import last_event, latest_first
from dispatchviz.explain.trace_index.trace_index import index, latest

STASH_ONE, STASH_ALL = "StashTorchDispatchModeGuard", "StashTorchDispatchStackGuard"
"""The guards that remove dispatch modes from the stack: the innermost one, or all."""

AUTOCAST_LOOKED_AT = 64
"""The number of changes of autocast that are read. The model has no autocast for more kinds of devices."""


class Guard(Struct, frozen=True):
    """A guard that is open. Its key sets are 64-bit numbers with functionality bits only."""

    name: str
    seq: int
    """The step that opened it."""
    includes: int
    no_longer_includes: int
    excludes: int
    no_longer_excludes: int
    is_mode: bool
    """True for a dispatch mode, which acts like a guard."""


class Switch(Struct, frozen=True):
    """A mode that is on or off, and the step that set it. None if nothing set it during the recording."""

    on: bool
    why: str
    """The code that switched it: ``torch.no_grad()``; empty if no event has it."""
    seq: int | None


class Autocast(Struct, frozen=True):
    """Autocast for a kind of device."""

    device: str
    """``cuda``."""
    on: bool
    dtype: str
    """The dtype to which it casts: ``torch.float16``."""
    excluded: bool
    """True if it was turned on and a guard excludes its key here, as the casts themselves do."""
    seq: int
    """The step that switched it last."""


class ThreadState(Struct, frozen=True):
    """The state of a thread."""

    guards: tuple[Guard, ...]
    """The guards, outermost first, including dispatch modes."""
    grad: Switch
    inference: Switch
    autocast: tuple[Autocast, ...]
    """The state of autocast, for the kinds of devices for which it was ever switched."""
    transforms: tuple[str, ...]
    """The stack of functorch, outermost first: ``vmap``, ``grad``."""
    modes: tuple[str, ...]
    """The dispatch modes that calls reach, outermost first."""
    included: int
    """The thread's included key set."""
    excluded: int

    @property
    def is_plain(self) -> bool:
        """True if the state is that of a new thread."""
        casting = any(each.on or each.excluded for each in self.autocast)
        return self.grad.on and not (self.guards or self.inference.on or casting or self.transforms or self.modes)


TELLING = (
    ev.GuardEntered,
    ev.GuardLeft,
    ev.GradModeChanged,
    ev.InferenceModeChanged,
    ev.AutocastChanged,
    ev.KeySetComputed,
    ev.DynamicLayerPushed,
    ev.DynamicLayerPopped,
)
"""The kinds of events that change the state of the thread."""


class _Last(Struct):
    """The last result for a trace. The header, the layout and the pane read it one after the other, a page at all
    steps.
    """

    at: int
    state: ThreadState
    telling: frozenset[int]
    """The codes of the kinds that change the state."""

    def holds(self, trace: Trace, at: int) -> bool:
        """Return whether a step is the next one, within the same guards, and neither step changes the state of the
        thread.
        """
        columns, before = trace.columns, self.at
        kinds, parents = columns.kinds, columns.parents
        if at != before + 1 or parents[at] not in (before, parents[before]):
            return False
        return kinds[before] not in self.telling and kinds[at] not in self.telling


_states: WeakKeyDictionary[Trace, _Last] = WeakKeyDictionary()


def thread_state(trace: Trace, at: int) -> ThreadState:
    """Return the state after the event of a step."""
    known = _states.get(trace)
    if known is None:
        known = _states[trace] = _Last(at, _found(trace, at), frozenset(map(trace.columns.code, TELLING)))
    elif known.at != at:
        known.state = known.state if known.holds(trace, at) else _found(trace, at)
        known.at = at
    return known.state


def _found(trace: Trace, at: int) -> ThreadState:
    guards = tuple(_guard(trace, event.seq) for event in open_guards(trace, at))
    included, excluded = _sets(trace, at)
    grad, inference, stack = _switches(trace, bisect_right(trace.steps_of(*SWITCHES), at))
    autocast = _autocast(trace, at, excluded)
    return ThreadState(guards, grad, inference, autocast, stack, tuple(_modes(guards)), included, excluded)


SWITCHES = (ev.GradModeChanged, ev.InferenceModeChanged, ev.DynamicLayerPushed, ev.DynamicLayerPopped)


@lru_cache(maxsize=16)
def _switches(trace: Trace, many: int) -> tuple[Switch, Switch, tuple[str, ...]]:
    """Return grad mode, inference mode and the stack of functorch after some of ``SWITCHES``."""
    at = trace.steps_of(*SWITCHES)[many - 1] if many else -1
    return _grad(trace, at), _inference(trace, at), tuple(transforms(trace, at))


def open_guards(trace: Trace, at: int) -> list[ev.GuardEntered]:
    """Return the guards that are open at a step, outermost first, without one that ends there."""
    event = trace[at]
    ended = event.parent if isinstance(event, ev.GuardLeft) else None
    around = (each for each in (event, *trace.ancestors(at)) if isinstance(each, ev.GuardEntered))
    return [each for each in around if each.seq != ended][::-1]


@lru_cache(maxsize=256)
def _guard(trace: Trace, seq: int) -> Guard:
    event = trace[seq]
    assert isinstance(event, ev.GuardEntered)
    return Guard(
        event.guard,
        event.seq,
        event.included & ~event.included_before & ~BACKENDS,
        event.included_before & ~event.included & ~BACKENDS,
        event.excluded & ~event.excluded_before & ~BACKENDS,
        event.excluded_before & ~event.excluded & ~BACKENDS,
        event.guard not in pytorch_guards() and event.excluded == event.excluded_before,
    )


@cache
def pytorch_guards() -> frozenset[str]:
    """Return the names of guards. Other names are those of dispatch modes."""
    from dispatchviz.core.thread import guards

    types = ((name, value) for name, value in vars(guards).items() if isinstance(value, type))
    own = (name for name, value in types if value.__module__ == guards.__name__)
    return frozenset((*own, STASH_ONE, STASH_ALL, "SaveLocalDispatchKeySet"))


def _modes(guards: Iterable[Guard]) -> list[str]:
    found = list[str]()
    for guard in guards:
        if guard.is_mode:
            found.append(guard.name)
        elif guard.name == STASH_ONE:
            del found[-1:]
        elif guard.name == STASH_ALL:
            found.clear()
    return found


def _grad(trace: Trace, at: int) -> Switch:
    event = last_event(trace, at, ev.GradModeChanged)
    return Switch(True, "", None) if event is None else Switch(event.enabled, event.why, event.seq)


def _inference(trace: Trace, at: int) -> Switch:
    event = last_event(trace, at, ev.InferenceModeChanged)
    return Switch(False, "", None) if event is None else Switch(event.enabled, "", event.seq)


def _autocast(trace: Trace, at: int, excluded: int) -> tuple[Autocast, ...]:
    found = dict[str, Autocast]()
    for event in islice(latest_first(trace, at, ev.AutocastChanged), AUTOCAST_LOOKED_AT):
        if event.device not in found:
            out = bool(excluded & _autocast_bit(event.device))
            found[event.device] = Autocast(
                event.device, event.enabled and not out, event.dtype, event.enabled and out, event.seq
            )
    return tuple(found[device] for device in sorted(found))


def _autocast_bit(device: str) -> int:
    """Return the bit of a device's Autocast key, or 0 for a device that no event of ours names."""
    key = DispatchKey.__members__.get(f"Autocast{device.upper()}")
    return 0 if key is None else raw(key)


def transforms(trace: Trace, at: int) -> list[str]:
    """Return the stack of functorch as of a step, outermost first. Levels are counted from 1 without gaps."""
    pushed, popped = last_event(trace, at, ev.DynamicLayerPushed), last_event(trace, at, ev.DynamicLayerPopped)
    if pushed is None:
        return []
    height = popped.level - 1 if popped is not None and popped.seq > pushed.seq else pushed.level
    known = index(trace).transforms
    return [latest(known.get(level, ()), at) or "?" for level in range(1, height + 1)]


def _sets(trace: Trace, at: int) -> tuple[int, int]:
    """Return the included and the excluded set from the last event that has them."""
    guard, left = last_event(trace, at, ev.GuardEntered), last_event(trace, at, ev.GuardLeft)
    call, casting = last_event(trace, at, ev.KeySetComputed), last_event(trace, at, ev.AutocastChanged)
    pushed, popped = last_event(trace, at, ev.DynamicLayerPushed), last_event(trace, at, ev.DynamicLayerPopped)
    including = [(event.seq, event.included) for event in (guard, left, call, pushed, popped) if event is not None]
    excluding = [(event.seq, event.excluded) for event in (guard, left, call, casting) if event is not None]
    return (
        max(including, default=(-1, default_included_set))[1],
        max(excluding, default=(-1, default_excluded_set))[1],
    )
