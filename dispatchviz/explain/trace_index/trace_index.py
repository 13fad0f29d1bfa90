"""What is known about the tensors and Nodes of a trace, gathered in one pass over it and kept per trace.

Every list is in order of happening, so a question "as of step n" is a bisection. Not here: the words
(``display_names.py``), the neighbourhood of one step (``enclosing_steps.py``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

T = TypeVar("T")


class Index:
    """The facts of one trace by tensor, by Node and by name. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self.names: dict[int, list[tuple[int, str]]] = defaultdict(list)
        """Tensor to (step, variable name)."""
        self.holders: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """Variable name to (step, tensor)."""
        self.tensors: dict[int, ev.TensorCreated] = {}
        self.storages: dict[int, int] = {}
        """Storage to the first tensor on it."""
        self.shapes: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        """Tensor to (step, its shape from then on)."""
        self.requires_grad: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        """Tensor to (step, whether it requires grad from then on), views of what requires grad aside."""
        self.views: dict[int, ev.ViewMade] = {}
        self.histories: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        """Tensor to (step, the Node that is its ``grad_fn`` from then on)."""
        self.gradients: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """Leaf to (step, tensor that is its ``.grad`` from then on)."""
        self.leaves: dict[int, int] = {}
        """Tensor that is or was some leaf's ``.grad`` to that leaf."""
        self.nodes: dict[int, ev.NodeCreated] = {}
        self.edges: dict[int, ev.EdgesCollected] = {}
        self.accumulators: dict[int, ev.AccumulatorMade] = {}
        self.functions: set[int] = set()
        """Nodes of ``torch.autograd.Function``."""
        self.function_outputs: dict[int, int] = {}
        """Tensor that a Function gives its caller to the step that says so."""
        self.node_names: Counter[str] = Counter()
        self.lines: list[int] = []
        """Steps that are source lines."""
        self.transforms: dict[int, list[tuple[int, str]]] = defaultdict(list)
        """Level to (step, transform that has it from then on)."""
        self.inference: list[tuple[int, bool]] = []
        self.grad_mode: list[tuple[int, ev.GradModeChanged]] = []
        for event in trace:
            note = _NOTES.get(type(event))
            if note is not None:
                note(self, event)

    def holder(self, name: str, at: int) -> int | None:
        """The tensor that a variable names as of a step."""
        return latest(self.holders.get(name, []), at)

    def grad_needed(self, tensor: int, at: int) -> bool:
        """Whether a tensor requires grad as of a step: by itself, or because it is a view of what does."""
        if latest(self.requires_grad.get(tensor, []), at):
            return True
        view = self.views.get(tensor)
        return view is not None and view.seq <= at and self.grad_needed(view.base, at)

    def history(self, tensor: int, at: int) -> int | None:
        """The Node that is a tensor's ``grad_fn`` as of a step, as far as it was recorded."""
        return latest(self.histories.get(tensor, []), at)

    def shape(self, tensor: int, at: int) -> tuple[int, ...] | None:
        """A tensor's shape as of a step; None if the trace does not say."""
        return latest(self.shapes.get(tensor, []), at)

    def _bound(self, event: ev.NameBound) -> None:
        self.names[event.tensor].append((event.seq, event.name))
        self.holders[event.name].append((event.seq, event.tensor))

    def _created(self, event: ev.TensorCreated) -> None:
        self.tensors[event.tensor] = event
        self.shapes[event.tensor].append((event.seq, event.shape))
        self.requires_grad[event.tensor].append((event.seq, event.requires_grad))
        self.storages.setdefault(event.storage, event.tensor)

    def on_memory_known_before(self, event: ev.TensorCreated) -> bool:
        """Whether an earlier tensor is on the same memory."""
        return event.storage >= 0 and self.storages[event.storage] != event.tensor

    def _reshaped(self, event: ev.GeometryChanged) -> None:
        self.shapes[event.tensor].append((event.seq, event.shape))

    def _flagged(self, event: ev.RequiresGradSet) -> None:
        self.requires_grad[event.tensor].append((event.seq, event.requires_grad))
        if event.detached:
            self.histories[event.tensor].append((event.seq, None))

    def _view(self, event: ev.ViewMade) -> None:
        self.views[event.tensor] = event

    def _with_history(self, event: ev.HistorySet | ev.HistoryRebased) -> None:
        self.requires_grad[event.tensor].append((event.seq, True))
        self.histories[event.tensor].append((event.seq, event.node))

    def _accumulated(self, event: ev.GradientAccumulated) -> None:
        self.gradients[event.tensor].append((event.seq, event.result))
        self.leaves[event.result] = event.tensor

    def _node(self, event: ev.NodeCreated) -> None:
        self.nodes[event.node] = event
        self.node_names[event.name] += 1

    def _edges(self, event: ev.EdgesCollected) -> None:
        self.edges[event.node] = event

    def _accumulator(self, event: ev.AccumulatorMade) -> None:
        self.accumulators[event.node] = event

    def _function(self, event: ev.FunctionEntered) -> None:
        self.functions.add(event.node)

    def _function_output(self, event: ev.FunctionOutput) -> None:
        self.function_outputs[event.result] = event.seq

    def _line(self, event: ev.SourceLine) -> None:
        self.lines.append(event.seq)

    def _transform(self, event: ev.DynamicLayerPushed) -> None:
        self.transforms[event.level].append((event.seq, event.transform.lower()))

    def _inference(self, event: ev.InferenceModeChanged) -> None:
        self.inference.append((event.seq, event.enabled))

    def _grad_mode(self, event: ev.GradModeChanged) -> None:
        self.grad_mode.append((event.seq, event))


_NOTES: dict[type[ev.Event], Callable[[Index, Any], None]] = {
    ev.NameBound: Index._bound,
    ev.TensorCreated: Index._created,
    ev.GeometryChanged: Index._reshaped,
    ev.RequiresGradSet: Index._flagged,
    ev.ViewMade: Index._view,
    ev.HistorySet: Index._with_history,
    ev.HistoryRebased: Index._with_history,
    ev.GradientAccumulated: Index._accumulated,
    ev.NodeCreated: Index._node,
    ev.FunctionEntered: Index._function,
    ev.FunctionOutput: Index._function_output,
    ev.EdgesCollected: Index._edges,
    ev.AccumulatorMade: Index._accumulator,
    ev.SourceLine: Index._line,
    ev.DynamicLayerPushed: Index._transform,
    ev.InferenceModeChanged: Index._inference,
    ev.GradModeChanged: Index._grad_mode,
}

_indexes: WeakKeyDictionary[Trace, Index] = WeakKeyDictionary()


def index(trace: Trace) -> Index:
    """The index of a trace, made when first needed."""
    found = _indexes.get(trace)
    if found is None:
        found = _indexes[trace] = Index(trace)
    return found


def latest(entries: Sequence[tuple[int, T]], at: int) -> T | None:
    """The value of the last entry that happened at or before a step; None if there was none yet."""
    position = bisect_right(entries, at, key=_step)
    return entries[position - 1][1] if position else None


def _step(entry: tuple[int, object]) -> int:
    return entry[0]
