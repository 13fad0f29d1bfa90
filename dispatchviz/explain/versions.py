"""Who keeps which version of a tensor, and which line made it useless: the facts of "modified by an inplace operation".

A saved tensor is good as long as the version of its memory is the one at which it was saved. Every answer here is known
at the step that writes in place, long before a backward runs into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import listed
from dispatchviz.explain.names import node_title, tensor_name
from dispatchviz.explain.surroundings import around, source_line, source_text


class _Versions:
    """What was saved, by the version counter that it is under."""

    def __init__(self, trace: Trace) -> None:
        self._counters: dict[int, int] = {}
        """Tensor to the first tensor known of those that share its counter."""
        self._of_storage: dict[int, int] = {}
        self._kept: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Counter to what Nodes saved under it."""
        self._released: set[int] = set()
        self.spoiled: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what it made useless."""
        self.by_node: dict[int, list[tuple[ev.VariableSaved, ev.VersionBumped]]] = defaultdict(list)
        """Node to what it keeps in vain, and the first change."""
        for event in trace:
            self._note(trace, event)

    def _note(self, trace: Trace, event: ev.AnyEvent) -> None:
        match event:
            case ev.TensorCreated():
                self._created(trace, event)
            case ev.VariableSaved(tensor=int()):
                self._kept[self._counter(event.tensor)].append(event)
            case ev.VersionBumped():
                self._bumped(event)
            case ev.VariablesReleased():
                self._released.add(event.node)
            case _:
                pass

    def _created(self, trace: Trace, event: ev.TensorCreated) -> None:
        """Memory that was there before is under its old counter, unless no operator gave it out: ``x.data``."""
        if event.storage < 0:
            return
        shares = event.storage in self._of_storage and around(trace, event.seq, ev.Dispatched) is not None
        first = self._of_storage.setdefault(event.storage, event.tensor)
        self._counters[event.tensor] = first if shares else event.tensor

    def _counter(self, tensor: int | None) -> int:
        return -1 if tensor is None else self._counters.get(tensor, tensor)

    def _bumped(self, event: ev.VersionBumped) -> None:
        kept = self._kept.pop(self._counter(event.tensor), [])  # from now on useless, or noted here
        spoiled = [saved for saved in kept if saved.version == event.before and saved.node not in self._released]
        if spoiled:
            self.spoiled[event.seq] = spoiled
        for saved in spoiled:
            self.by_node[saved.node].append((saved, event))


_known: WeakKeyDictionary[Trace, _Versions] = WeakKeyDictionary()


def _versions(trace: Trace) -> _Versions:
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = _Versions(trace)
    return found


def spoiled_by(trace: Trace, event: ev.VersionBumped) -> Sequence[ev.VariableSaved]:
    """What Nodes keep that this change makes useless: their backward will refuse."""
    return _versions(trace).spoiled.get(event.seq, ())


def spoiled_of(trace: Trace, node: int, at: int) -> Sequence[tuple[ev.VariableSaved, ev.VersionBumped]]:
    """What a Node keeps in vain as of a step, each with the change that made it so."""
    return [(saved, bump) for saved, bump in _versions(trace).by_node.get(node, ()) if bump.seq <= at]


def warning(trace: Trace, event: ev.VersionBumped) -> str:
    """What will come of a change in place: who keeps the old version, since which line; empty if nobody does."""
    spoiled = spoiled_by(trace, event)
    keepers = [
        f"{node_title(trace, node, event.seq)}{_made_on(trace, kept[0].seq)}saved version {event.before} as {_as(kept)}"
        for node, kept in _by_node(spoiled).items()
    ]
    if not keepers:
        return ""
    return f"{listed(keepers)}: {'its' if len(keepers) == 1 else 'their'} backward will refuse."


def refusal(trace: Trace, node: int, at: int) -> str:
    """Why a Node refuses to use what it saved: which line saved it, which changed it; empty if nothing was changed."""
    changes: dict[int, list[ev.VariableSaved]] = defaultdict(list)
    for saved, bump in spoiled_of(trace, node, at):
        changes[bump.seq].append(saved)
    return " ".join(_one_refusal(trace, node, kept, bump, at) for bump, kept in changes.items())


def _one_refusal(trace: Trace, node: int, kept: Sequence[ev.VariableSaved], change: int, at: int) -> str:
    bump, first = trace[change], kept[0]
    assert isinstance(bump, ev.VersionBumped)
    assert first.tensor is not None
    name = tensor_name(trace, first.tensor, first.seq)
    if name == f"t{first.tensor}":
        name = tensor_name(trace, first.tensor, change)  # a result has its name only after it was saved
    return (
        f"{node_title(trace, node, at)}{_made_on(trace, first.seq)}saved {name} at version {first.version} as "
        f"{_as(kept)}; {_line(trace, change)} changed it in place, from version {bump.before} to {bump.after}."
    )


def _by_node(kept: Sequence[ev.VariableSaved]) -> dict[int, list[ev.VariableSaved]]:
    found: dict[int, list[ev.VariableSaved]] = defaultdict(list)
    for saved in kept:
        found[saved.node].append(saved)
    return found


def _as(kept: Sequence[ev.VariableSaved]) -> str:
    return listed([saved.name for saved in kept])


def _made_on(trace: Trace, seq: int) -> str:
    line = source_line(trace, seq)
    return " " if line is None else f", made on line {line.line}, "


def _line(trace: Trace, seq: int) -> str:
    line = source_line(trace, seq)
    if line is None:
        return "an operator"
    text = source_text(trace, line).partition("  #")[0]
    return f"line {line.line}{f' ({text})' if text else ''}"
