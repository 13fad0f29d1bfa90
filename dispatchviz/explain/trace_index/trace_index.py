"""The tensors and Nodes of a trace, looked up in its columns on demand, and the paths of its parameters.

Every list is in order of occurrence, so a question "as of step n" is a bisection, and in a stored trace only the event
with the answer is decoded. Names are in ``display_names.py``, the surroundings of a step in ``enclosing_steps.py``, and
the caches in ``lookups.py``.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, ref

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import KEPT, NOTHING, Entries, Lookup, Nothing, StepsByKind

T = TypeVar("T")
E = TypeVar("E", bound=ev.Event)


class Derived(NamedTuple):
    """The tensor after which another tensor without a variable is named (``derived_names.py``)."""

    tensor: int
    suffix: str
    """The text after that tensor's name: ``.T``, or `` before .cuda()``, with which the name is not an expression."""


NAMING = (ev.NameBound, ev.NameUnbound, ev.GradientAccumulated, ev.GradSet)
"""The kinds of events that may change the name of a tensor, also of one that is named after another."""


class Index:
    """The facts of a trace by tensor, by Node and by name. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self._events, columns = trace.events, trace.columns
        self._columns = columns
        self._texts = ("", *columns.name_texts)
        """The texts of numbers from -1 on."""
        self._numbers = {text: number for number, text in enumerate(columns.name_texts)}
        of_tensor, of_node = StepsByKind(columns, columns.of_tensor), StepsByKind(columns, columns.of_node)
        self._of_tensor, self._of_node = of_tensor, of_node
        self._of_storage = StepsByKind(columns, columns.of_storage)
        self._of_name, self._of_result = (StepsByKind(columns, each) for each in (columns.of_name, columns.of_result))

        self.names: Lookup[int, Entries[str]] = Lookup(self._names, of_tensor)
        """For each tensor: (step, variable name)."""
        self._variables: Lookup[int, tuple[tuple[str, Sequence[int]], ...]] = Lookup(self._naming, of_tensor)
        """For each tensor: the variables that have ever named it, each once, and the steps at which they were bound."""
        self.holders: Lookup[str, Entries[int]] = Lookup(self._holders, self._numbers)
        """For each variable name: (step, tensor)."""
        self._unbindings: Lookup[str, Sequence[int]] = Lookup(self._unbound, self._numbers)
        """For each variable name: the steps at which it was removed from a tensor."""
        self.tensors: Lookup[int, ev.TensorCreated] = Lookup(self._last(of_tensor, ev.TensorCreated), of_tensor)
        self.shapes: Lookup[int, Entries[tuple[int, ...]]] = Lookup(self._shapes, of_tensor)
        """For each tensor: (step, its shape after that)."""
        self.requires_grad: Lookup[int, Entries[bool]] = Lookup(self._requires_grad, of_tensor)
        """For each tensor: (step, whether it requires grad after that), except views of tensors that require grad."""
        self.views: Lookup[int, ev.ViewMade] = Lookup(self._last(of_tensor, ev.ViewMade), of_tensor)
        self.histories: Lookup[int, Entries[int | None]] = Lookup(self._histories, of_tensor)
        """For each tensor: (step, the Node that is its ``grad_fn`` after that)."""
        self.gradients: Lookup[int, Entries[int | None]] = Lookup(self._gradients, of_tensor)
        """For each leaf: (step, the tensor that is its ``.grad`` after that)."""
        self.leaves: Lookup[int, int] = Lookup(self._leaf, self._of_result)
        """For each tensor that is or was the ``.grad`` of a leaf: that leaf."""
        self.nodes: Lookup[int, ev.NodeCreated] = Lookup(self._last(of_node, ev.NodeCreated), of_node)
        self.edges: Lookup[int, ev.EdgesCollected] = Lookup(self._last(of_node, ev.EdgesCollected), of_node)
        self.accumulators: Lookup[int, ev.AccumulatorMade] = Lookup(self._last(of_node, ev.AccumulatorMade), of_node)
        self.functions: Lookup[int, int] = Lookup(self._function, of_node)
        """For each Node of a ``torch.autograd.Function``: the step at which the Function was last entered."""
        self.function_outputs: Lookup[int, int] = Lookup(self._function_output, self._of_result)
        """For each tensor that a Function returns to its caller: the step that shows it."""
        self.node_names: Lookup[str, int] = Lookup(self._nodes_named, self._numbers)
        """For each name: the number of Nodes that have it."""
        self.transforms: Lookup[int, Entries[str]] = Lookup(self._transforms, {})
        """For each level: (step, the transform that has it after that)."""
        self.derived: dict[int, Derived | None] = {}
        """For each tensor: the one that is one step away, as far as it has been searched."""
        self.inference: Entries[bool] = Entries(trace.steps_of(ev.InferenceModeChanged), self._inference)
        self.key_set_texts: dict[Hashable, str] = {}
        """Sentences on key sets, by everything that they depend on."""
        self._namings = tuple(trace.steps_of(kind) for kind in NAMING)
        self._display_names: tuple[int, int, dict[int, str]] = (0, 0, {})
        """A range of steps between which no name changes, and the names of tensors there."""

    def display_names(self, at: int) -> dict[int, str]:
        """Return the names of tensors as of a step, as far as ``display_names.py`` has found them.

        Many steps in a row have the same names, so they share one dictionary.
        """
        begin, end, known = self._display_names
        if not begin <= at < end or len(known) >= KEPT:
            known = {}
            self._display_names = *self._unchanged(at), known
        return known

    def _unchanged(self, at: int) -> tuple[int, int]:
        """Return the range of steps around one in which all names are the same."""
        begin, end = 0, sys.maxsize
        for steps in self._namings:
            place = bisect_right(steps, at)
            if place:
                begin = max(begin, steps[place - 1])
            if place < len(steps):
                end = min(end, steps[place])
        return begin, end

    def holder(self, name: str, at: int) -> int | None:
        """Return the tensor that a variable names as of a step."""
        held = latest_entry(self.holders.get(name, ()), at)
        return None if held is None or not self._is_bound(name, held[0], at) else held[1]

    def name(self, tensor: int, at: int) -> str:
        """Return the variable that names a tensor as of a step. If there are several, the one bound last; empty if
        there is none.
        """
        found, bound, tensors = "", -1, self._columns.tensors
        for name, steps in self._variables.get(tensor, ()):
            place = bisect_right(steps, at)
            if not place or tensors[step := steps[place - 1]] != tensor:
                continue
            if step > bound and self._is_bound(name, step, at):
                found, bound = name, step
        return found

    def coming_name(self, tensor: int, at: int) -> str:
        """Return the first name of a tensor that has had none up to a step; empty if it gets none."""
        named = self.names.get(tensor)
        return named[0][1] if named is not None and named.steps[0] > at else ""

    def lost_name(self, tensor: int, at: int) -> tuple[str, int]:
        """Return the last name that a tensor had before a step, and the iteration of its line in which it got it; 0 if
        unknown.
        """
        named = latest_entry(self.names.get(tensor, ()), at)
        if named is None:
            return "", 0
        event = self._event(named[0], ev.NameBound)
        return named[1], 0 if event is None else event.turn

    def shown(self, name: str) -> str:
        """Return a name as it is shown: the path of a parameter is shortened if it remains clear."""
        if "." not in name:
            return name
        short = short_path(name, self._common_variable)
        return name if short in self._numbers else short

    def shown_module(self, path: str) -> str:
        """Return the path of a module as in the names of its parameters: ``blocks.0`` if they are
        ``blocks.0.weight``.
        """
        return self.shown(f"{path}.weight").rpartition(".")[0]

    @cached_property
    def _common_variable(self) -> str:
        return common_variable(self._numbers)

    def _is_bound(self, name: str, since: int, at: int) -> bool:
        """Return whether a name was not removed from its tensor again."""
        steps, tensors = self._unbindings.get(name, ()), self._columns.tensors
        place = bisect_right(steps, at)
        return not place or steps[place - 1] < since or tensors[steps[place - 1]] != tensors[since]

    def is_gradient(self, tensor: int, leaf: int, at: int) -> bool:
        """Return whether a tensor is a leaf's ``.grad`` as of a step."""
        entries = self.gradients.get(leaf)
        return entries is not None and latest(entries, at) == tensor

    def grad_needed(self, tensor: int, at: int) -> bool:
        """Return whether a tensor requires grad as of a step: by itself, or because its base, which is not a view,
        does.
        """
        if latest(self.requires_grad.get(tensor, ()), at):
            return True
        view = self.views.get(tensor)
        return view is not None and view.seq <= at and bool(latest(self.requires_grad.get(view.base, ()), at))

    def history(self, tensor: int, at: int) -> int | None:
        """Return the Node that is a tensor's ``grad_fn`` as of a step, as far as it was recorded."""
        return latest(self.histories.get(tensor, ()), at)

    def steps_about(self, tensor: int, *kinds: type[Any]) -> Sequence[int]:
        """Return the steps of some kinds about a tensor, in order."""
        return self._of_tensor.steps(tensor, *kinds)

    def about_storage(self, storage: int, *kinds: type[Any]) -> Sequence[int]:
        """Return the steps of some kinds about a memory, in order."""
        return self._of_storage.steps(storage, *kinds)

    def shape(self, tensor: int, at: int) -> tuple[int, ...] | None:
        """Return a tensor's shape as of a step, or None if the trace does not have it."""
        return latest(self.shapes.get(tensor, ()), at)

    def on_memory_known_before(self, event: ev.TensorCreated) -> bool:
        """Return whether an earlier tensor is on the same memory."""
        steps = self._columns.of_storage.get(event.storage, ())
        return len(steps) > 0 and self._columns.tensors[steps[0]] != event.tensor

    # -- by tensor, by Node --------------------------------------------------------------------------------------------

    def _event(self, step: int, kind: type[E]) -> E | None:
        """Return the event of a step, or None if the file is damaged there."""
        event = self._events[step]
        return event if isinstance(event, kind) else None

    def _last(self, groups: StepsByKind, kind: type[E]) -> Callable[[int], E | None]:
        """Return a function that finds the last event of a kind about a number."""

        def found(number: int) -> E | None:
            steps = groups.steps(number, kind)
            return self._event(steps[-1], kind) if steps else None

        return found

    def _shapes(self, tensor: int) -> Entries[tuple[int, ...]] | None:
        def shape(step: int) -> tuple[int, ...] | Nothing:
            event = self._events[step]
            return event.shape if isinstance(event, ev.TensorCreated | ev.GeometryChanged) else NOTHING

        return Entries.some(self._of_tensor.steps(tensor, ev.TensorCreated, ev.GeometryChanged), shape)

    def _requires_grad(self, tensor: int) -> Entries[bool] | None:
        steps = self._of_tensor.steps(tensor, ev.TensorCreated, ev.RequiresGradSet, ev.HistorySet, ev.HistoryRebased)
        return Entries.some(steps, self._requires_grad_from)

    def _requires_grad_from(self, step: int) -> bool | Nothing:
        event = self._events[step]
        if isinstance(event, ev.TensorCreated | ev.RequiresGradSet):
            return event.requires_grad
        return True if isinstance(event, ev.HistorySet | ev.HistoryRebased) else NOTHING

    def _histories(self, tensor: int) -> Entries[int | None] | None:
        columns = self._columns
        found = self._of_tensor.steps(tensor, ev.HistorySet, ev.HistoryRebased)
        detaching = _common(self._of_tensor.steps(tensor, ev.RequiresGradSet), columns.of_detached.get(1, ()))
        steps = sorted((*found, *detaching)) if detaching else found
        return Entries.some(steps, lambda step: None if step in detaching else columns.nodes[step])

    def _gradients(self, leaf: int) -> Entries[int | None] | None:
        def gradient(step: int) -> int | Nothing | None:
            event = self._event(step, ev.GradientAccumulated) or self._event(step, ev.GradSet)
            return NOTHING if event is None else event.result

        return Entries.some(self._of_tensor.steps(leaf, ev.GradientAccumulated, ev.GradSet), gradient)

    def _leaf(self, gradient: int) -> int | None:
        steps = self._of_result.steps(gradient, ev.GradientAccumulated, ev.GradSet)
        return self._columns.tensors[steps[-1]] if steps else None

    def _function(self, node: int) -> int | None:
        return _last(self._of_node.steps(node, ev.FunctionEntered))

    def _function_output(self, tensor: int) -> int | None:
        return _last(self._of_result.steps(tensor, ev.FunctionOutput))

    # -- by name -------------------------------------------------------------------------------------------------------

    def _names(self, tensor: int) -> Entries[str] | None:
        names, texts = self._columns.names, self._texts
        return Entries.some(self._of_tensor.steps(tensor, ev.NameBound), lambda step: texts[names[step] + 1])

    def _naming(self, tensor: int) -> tuple[tuple[str, Sequence[int]], ...] | None:
        steps = self._of_tensor.steps(tensor, ev.NameBound)
        if not steps:
            return None
        numbers = dict.fromkeys(map(self._columns.names.__getitem__, steps))
        names = (self._texts[number + 1] for number in numbers)
        return tuple((name, entries.steps) for name in names if (entries := self.holders.get(name))) or None

    def _holders(self, name: str) -> Entries[int] | None:
        number = self._numbers.get(name)
        steps = () if number is None else self._of_name.steps(number, ev.NameBound)
        return Entries.some(steps, self._columns.tensors.__getitem__)

    def _unbound(self, name: str) -> Sequence[int] | None:
        number = self._numbers.get(name)
        return None if number is None else self._of_name.steps(number, ev.NameUnbound) or None

    def _nodes_named(self, name: str) -> int:
        number = self._numbers.get(name)
        return 0 if number is None else len(self._of_name.steps(number, ev.NodeCreated))

    # -- by level, of the whole program --------------------------------------------------------------------------------

    def _transforms(self, level: int) -> Entries[str] | None:
        def transform(step: int) -> str | Nothing:
            event = self._event(step, ev.DynamicLayerPushed)
            return NOTHING if event is None or event.level != level else event.transform.lower()

        columns = self._columns
        return Entries.some(columns.of_kind.get(columns.code(ev.DynamicLayerPushed), ()), transform)

    def _inference(self, step: int) -> bool | Nothing:
        event = self._event(step, ev.InferenceModeChanged)
        return NOTHING if event is None else event.enabled


def _last(steps: Sequence[int]) -> int | None:
    return steps[-1] if steps else None


def _common(few: Sequence[int], steps: Sequence[int]) -> frozenset[int]:
    """Return the steps that are in both. The second ones are in order."""
    places = ((step, bisect_left(steps, step)) for step in few)
    return frozenset(step for step, place in places if place < len(steps) and steps[place] == step)


_indexes: WeakKeyDictionary[Trace, Index] = WeakKeyDictionary()


class _Latest:
    """The trace used last, and its index, because it is nearly always used next too. Neither is kept alive."""

    trace: Callable[[], Trace | None] = staticmethod(lambda: None)
    index: Callable[[], Index | None] = staticmethod(lambda: None)


def index(trace: Trace) -> Index:
    """Return the index of a trace, created on first use."""
    if _Latest.trace() is trace and (same := _Latest.index()) is not None:
        return same
    found = _indexes.get(trace)
    if found is None:
        found = _indexes[trace] = Index(trace)
    _Latest.trace, _Latest.index = ref(trace), ref(found)
    return found


def latest(entries: Sequence[tuple[int, T]], at: int) -> T | None:
    """Return the value of the last entry at or before a step, or None if there is none yet."""
    found = latest_entry(entries, at)
    return None if found is None else found[1]


def latest_entry(entries: Sequence[tuple[int, T]], at: int) -> tuple[int, T] | None:
    """Return the last entry at or before a step, or None if there is none yet."""
    if isinstance(entries, Entries):
        return entries.latest(at)
    after: Any = (at + 1,)  # sorts before all entries of the next step, because nothing else is compared
    position = bisect_left(entries, after)
    return entries[position - 1] if position else None


def common_variable(names: Iterable[str]) -> str:
    """Return the variable with which all paths of a trace begin; empty if there are several, or none.

    A variable whose module is part of another one does not count: ``block``, if ``net.blocks.0`` has the same
    parameters.
    """
    paths = defaultdict(list)
    for name in names:
        variable, _, path = name.partition(".")
        if "." in path and "[" not in variable:
            paths[variable].append(path)
    within = defaultdict(set)
    for variable, found in paths.items():
        for ending in (ending for path in found for ending in _endings(path)):
            within[ending].add(variable)
    outermost = [one for one, found in paths.items() if any(not within[path] - {one} for path in found)]
    return outermost[0] if len(outermost) == 1 else ""


def short_path(name: str, variable: str) -> str:
    """Return a path without the variable that all paths begin with, if it remains clear."""
    path = name.removeprefix(f"{variable}.") if variable else name
    return path if "." in path and not path[0].isdigit() else name


def _endings(path: str) -> Iterable[str]:
    parts = path.split(".")
    return (".".join(parts[first:]) for first in range(1, len(parts)))
