"""Who keeps which version of a tensor, and which line made it useless: the facts of "modified by an inplace operation".

A saved tensor is good as long as the counter that it is under stands at the version at which it was saved. Every answer
here is known at the step that writes in place, long before a backward runs into it.

No version is compared of what a hook has packed, nor of what a Node has let go: neither is listed here. Nor can writes
be noticed that move another counter, ``x.data.add_(1)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.claims import BackwardRefuses
from dispatchviz.explain.english import listed
from dispatchviz.explain.index import index
from dispatchviz.explain.names import node_title, tensor_name
from dispatchviz.explain.statement import Statement
from dispatchviz.explain.surroundings import source_line, source_text

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
DETACHED = "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
"""How PyTorch's messages begin."""

Change = ev.VersionBumped | ev.RequiresGradSet


class _Versions:
    """What was saved, by the version counter that it is under."""

    def __init__(self, trace: Trace) -> None:
        self._kept: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Counter to what Nodes saved under it."""
        self._histories: set[int] = set()
        """Tensors that have a grad_fn."""
        self._inputs: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Tensor with a history to what Nodes saved of it as it is: they ask it for that history."""
        self._packed: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """As ``_kept``, of what a hook has packed."""
        self.gone: dict[int, int] = {}
        """Step of what was saved to the step at which it was let go, or packed."""
        self._of_node: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        self.spoiled: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what it made useless."""
        self.unnoticed: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what was packed at the version before."""
        self.by_node: dict[int, list[tuple[ev.VariableSaved, Change]]] = defaultdict(list)
        """Node to what it keeps in vain, and the first change."""
        for event in trace:
            self._note(event)

    def _note(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.VariableSaved(tensor=int()):
                self._saved(event)
            case ev.VersionBumped():
                kept = self._kept.pop(event.counter, [])  # from now on useless, or noted here
                self._change(event, [saved for saved in kept if saved.version == event.before])
                self._write_unnoticed(event)
            case ev.RequiresGradSet(detached=True):
                self._histories.discard(event.tensor)
                self._change(event, self._inputs.pop(event.tensor, []))
            case ev.VariablesReleased():
                self._let_go(self._of_node.pop(event.node, ()), event)
            case ev.SavedTensorHookRan(kind="pack hook", node=int(node)):
                packed = [saved for saved in self._of_node[node] if saved.name == event.name]
                self._let_go(packed, event)
                for saved in packed:
                    self._packed[saved.counter].append(saved)
            case ev.HistorySet() | ev.HistoryRebased():
                self._histories.add(event.tensor)
            case _:
                pass

    def _saved(self, event: ev.VariableSaved) -> None:
        self._of_node[event.node].append(event)
        if event.packed:
            self._packed[event.counter].append(event)
            return
        self._kept[event.counter].append(event)
        if not event.is_output and event.tensor in self._histories:
            self._inputs[event.tensor].append(event)

    def _let_go(self, kept: Iterable[ev.VariableSaved], event: ev.AnyEvent) -> None:
        for saved in kept:
            self.gone.setdefault(saved.seq, event.seq)

    def _change(self, event: Change, kept: Iterable[ev.VariableSaved]) -> None:
        spoiled = [saved for saved in kept if saved.seq not in self.gone]
        if spoiled:
            self.spoiled[event.seq] = spoiled
        for saved in spoiled:
            self.by_node[saved.node].append((saved, event))

    def _write_unnoticed(self, event: ev.VersionBumped) -> None:
        packed = self._packed.get(event.counter, ())
        current = [saved for saved in packed if saved.version == event.before and self._has(saved)]
        if current:
            self.unnoticed[event.seq] = current

    def _has(self, saved: ev.VariableSaved) -> bool:
        """Whether the Node has not let go of what it keeps."""
        return saved in self._of_node.get(saved.node, ())


_known: WeakKeyDictionary[Trace, _Versions] = WeakKeyDictionary()


def _versions(trace: Trace) -> _Versions:
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = _Versions(trace)
    return found


def spoiled_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """What Nodes keep that this change makes useless: to use it is an error."""
    return _versions(trace).spoiled.get(event.seq, ())


def spoiled_of(trace: Trace, node: int, at: int) -> Sequence[tuple[ev.VariableSaved, Change]]:
    """What a Node keeps in vain as of a step, each with the change that made it so."""
    known = _versions(trace)
    changed = [(saved, change) for saved, change in known.by_node.get(node, ()) if change.seq <= at]
    return [(saved, change) for saved, change in changed if known.gone.get(saved.seq, at + 1) > at]


def warnings(trace: Trace, event: Change) -> tuple[Statement, ...]:
    """What will come of a change in place: who keeps the old version, since which line; nothing if nobody does."""
    functions, spoiled = index(trace).functions, spoiled_by(trace, event)
    formulas = [saved for saved in spoiled if saved.node not in functions]
    own = [saved for saved in spoiled if saved.node in functions]
    packed = _versions(trace).unnoticed.get(event.seq, ())
    anew = [saved for saved in packed if by_checkpoint(trace, saved)]
    said = (
        _formulas(trace, event, formulas),
        _functions(trace, event, own),
        _packed(trace, event, [saved for saved in packed if saved not in anew]),
        _checkpointed(trace, event, anew),
    )
    return tuple(statement for statement in said if statement.text)


def by_checkpoint(trace: Trace, saved: ev.VariableSaved) -> bool:
    """Whether the hook that packed a tensor is one of ``torch.utils.checkpoint``."""
    before = trace[saved.seq - 1] if saved.packed and saved.seq else None
    return isinstance(before, ev.SavedTensorHookRan) and before.packed == "_Holder"


def _formulas(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """Formulas unpack all that their Node keeps before they compute anything."""
    nodes = _by_node(kept)
    detached = isinstance(event, ev.RequiresGradSet)
    keepers = listed([_keeper(trace, event, some) for some in nodes.values()])
    claims = _refusals(kept, DETACHED if detached else MODIFIED)
    if not nodes:
        return Statement("nobody keeps the old version", "")
    will = f"{'its' if len(nodes) == 1 else 'their'} backward will refuse"
    if detached:
        return Statement("saved tensor detached", f"{keepers} and would need its history: {will}.", claims)
    return Statement("saved version passed", f"{keepers}: {will}.", claims)


def _functions(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """A Function's backward unpacks when it asks for what was saved."""
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    text = f"{keepers}: asking for ctx.saved_tensors in backward will raise an error." if keepers else ""
    claims = _refusals(kept, DETACHED if isinstance(event, ev.RequiresGradSet) else MODIFIED)
    return Statement("saved version of a Function passed", text, claims)


def _packed(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    whose = "its" if len(_by_node(kept)) == 1 else "their"
    will = f"no version is compared, and this change will not make {whose} backward refuse"
    text = f"{keepers}, packed by a hook: {will}." if keepers else ""
    claims = tuple(BackwardRefuses(saved.node, saved.name, refuses=False) for saved in kept)
    return Statement("packed version passed", text, claims)


def _checkpointed(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """The inputs of a checkpoint are kept with their versions, until it computes anew."""
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    will = "what it kept will be computed anew, which is refused if an input of the checkpoint has changed"
    text = f"{keepers}, within a checkpoint: {will}." if keepers else ""
    return Statement("checkpointed version passed", text)


def _refusals(kept: Iterable[ev.VariableSaved], message: str) -> tuple[BackwardRefuses, ...]:
    return tuple(BackwardRefuses(saved.node, saved.name, refuses=True, message=message) for saved in kept)


def _keeper(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> str:
    """``MulBackward0 (n2), made on line 6, saved version 0 as other and self``"""
    node, first = node_title(trace, kept[0].node, event.seq), kept[0]
    what = "it" if isinstance(event, ev.RequiresGradSet) else f"version {first.version}"
    return f"{node}{_made_on(trace, first.seq)}saved {what} as {_as(kept)}"


def refusal(trace: Trace, node: int, at: int) -> str:
    """Why a Node refuses to use what it saved: which line saved it, which changed it; empty if nothing was changed."""
    changes: dict[int, list[ev.VariableSaved]] = defaultdict(list)
    for saved, change in spoiled_of(trace, node, at):
        changes[change.seq].append(saved)
    return " ".join(_one_refusal(trace, node, kept, change, at) for change, kept in changes.items())


def _one_refusal(trace: Trace, node: int, kept: Sequence[ev.VariableSaved], change: int, at: int) -> str:
    event, first = trace[change], kept[0]
    assert first.tensor is not None
    name = tensor_name(trace, first.tensor, first.seq)
    if name == f"t{first.tensor}":
        name = tensor_name(trace, first.tensor, change)  # a result has its name only after it was saved
    saved = f"{node_title(trace, node, at)}{_made_on(trace, first.seq)}saved {name}"
    if isinstance(event, ev.VersionBumped):
        return (
            f"{saved} at version {first.version} as {_as(kept)}; {_line(trace, change)} changed it in place, from "
            f"version {event.before} to {event.after}."
        )
    return f"{saved} as {_as(kept)}; {_line(trace, change)} cut off its history."


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
