"""The part of a trace that both the model and a recorder of an installed PyTorch (``dispatchviz/live``) record.

``seen_by_both`` turns a trace into one that has only those events, each at the place where both record it: a tensor
appears where a call first takes or returns it, a Node when the autograd kernel that made it has returned or an edge
leads to it, a guard around the call that a kernel makes with other thread-local sets than its own. Tensors and Nodes
are renumbered in the order in which these events name them.

Not recorded in an installed PyTorch, and left out: Python's bindings, meta and impl of structured kernels, boxing, the
engine's counts and queues, version counters, calls without a tensor, calls that find no kernel, the Node before several
roots, the times when hooks of ``retain_grad`` run. Also left out: the events that format a tensor as text, the calls of
``numel`` and of PyTorch's meta functions in Python, which the model computes in another way, the lengths of the
workspaces of LAPACK (``docs/differences.md``), the last digits of numbers, the folders of PyTorch in messages, the
numbers that Nodes save, and the inputs of ``torch.autograd.grad`` that no edge leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE, BEHIND_NODE
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.first_mentions import FirstMentions
from dispatchviz.explain.comparison.fitted_roots import fitted_first
from dispatchviz.explain.comparison.met_nodes import MetNodes
from dispatchviz.explain.comparison.seen_by_one import SeenByOne
from dispatchviz.explain.comparison.texts_of_any_run import of_any_run, rounded
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.live.local_sets import guard_name

KEPT = (
    ev.Dispatched, ev.KeySetComputed, ev.FallthroughSkipped, ev.KernelSelected, ev.KernelEntered,
    ev.KernelReturned, ev.BackwardStarted, ev.BackwardFinished, ev.NodeStarted, ev.GradientAccumulated, ev.Printed,
    ev.ProgramRaised, ev.NameBound, ev.HookRegistered, ev.HookRemoved, ev.HookRan,
)  # fmt: skip
"""The kinds of events that both record."""

ASKING_LAPACK = frozenset(
    f"aten::{name}"
    for name in (
        "geqrf", "geqrf.a", "linalg_eig.out", "_linalg_eigvals", "_linalg_eigh", "_linalg_eigh.eigenvalues",
        "linalg_householder_product", "linalg_householder_product.out", "ormqr", "ormqr.out", "linalg_ldl_factor_ex",
        "linalg_ldl_factor_ex.out", "linalg_qr", "linalg_qr.out", "_linalg_svd", "_linalg_svd.U", "linalg_lstsq.out",
    )
)  # fmt: skip
"""Operators whose kernel creates workspaces: one-dimensional tensors whose length the LAPACK of a build determines."""

UNSEEN = ev.FunctionEntered, ev.ForwardFormulaEntered
"""The functions whose lines are not recorded: ``forward`` and ``jvp`` of a custom Function."""

TYPED: dict[str, Any] = {
    "callBoxed": "call",
    "redispatchBoxed": "redispatch",
    "pyobject_dispatch": "call",
    "pyobject_redispatch": "redispatch",
}
"""The form in which boxed calls are compared. An installed PyTorch does not show whether arguments were on a stack."""


def seen_by_both(trace: Trace, places: bool = True) -> SeenByBoth:
    """Return the part of a trace that both record. Without ``places``, the registration lines of kernels, which differ
    in each release, are left out.
    """
    view = _View(trace, places)
    for event in fitted_first(trace.events) if is_live(trace.header) else trace.events:
        view.add(event)
    return SeenByBoth(trace, tuple(view.events), tuple(view.steps))


class SeenByBoth(Trace):
    """A trace of events that both record. ``steps`` has, for each event, its step in the whole trace or the step that
    emits it.
    """

    steps: tuple[int, ...]

    def __init__(self, whole: Trace, events: tuple[ev.AnyEvent, ...], steps: tuple[int, ...]) -> None:
        super().__init__(whole.header, events)
        vars(self).update(steps=steps)


Sets = tuple[int, int]
"""A thread's included and excluded key set."""


class _View:
    """The pass over the events of a trace."""

    def __init__(self, trace: Trace, places: bool) -> None:
        self._places = places
        self.events: list[ev.AnyEvent] = []
        self.steps: list[int] = []
        self._trace = trace
        self._nodes = MetNodes(trace.events)
        self._tensors = FirstMentions(trace)
        self._parents: dict[int, int | None] = {}
        self._numbers: dict[int, int] = {}
        """The number in the new trace of each event that contains others."""
        self._running: dict[int, int] = {}
        """The last Node that each backward pass here ran. Everything up to the next Node is in that one, because the
        return of a Node is not recorded.
        """
        self._accumulated: list[ev.GradientAccumulated] = []
        """The events that become visible when the next Node runs."""
        self._kernel: dict[int, int | None] = {}
        """The KernelEntered around each event."""
        self._selected: dict[int, ev.KernelSelected] = {}
        """The selected kernel of each call."""
        self._sets: dict[int, Sets | None] = {}
        """The thread-local sets during each event, as far as they are known."""
        self._seen_by_one = SeenByOne(trace)
        self._histories: dict[int, list[ev.HistorySet | ev.HistoryRebased]] = {}
        """The Nodes that the results of each running kernel got."""
        self._moved: dict[tuple[int | None, int | None], ev.HookRegistered] = {}
        """The retains-grad hook that moved, for each kernel and result."""
        self._line: ev.SourceLine | None = None
        """A line on which nothing has been emitted yet."""
        self._lines: dict[int | None, ev.SourceLine] = {}
        """The last line directly within each event of the trace. For a line, the line itself."""
        self._latest: dict[tuple[str, int], ev.SourceLine] = {}
        """The last event of each line of a file."""
        self._functions: dict[int, int | None] = {}
        """The innermost one of ``UNSEEN`` around each event."""
        self._function: int | None = None
        """The function of the last line."""
        self._hooks = _last_pre_hooks(trace.events)
        self._not_evaluated = not_evaluated(trace)
        self._before_hooks: dict[int, ev.NodeStarted] = {}
        """The Nodes whose hooks run now. In PyTorch a Node is recorded after its hooks, with the gradients that they
        return.
        """
        self._outermost: int | None = None
        """The last line at the outermost level."""
        self._last: tuple[tuple[object, ...], int] = (), -1
        """The last line that was emitted, and its number."""

    def add(self, event: ev.AnyEvent) -> None:
        """Add the next event."""
        seq, parent = event.seq, event.parent
        self._seen_by_one.add(event)
        self._parents[seq] = parent
        is_kernel = isinstance(event, ev.KernelEntered) and not self._seen_by_one.is_unwatched(seq)
        self._kernel[seq] = seq if is_kernel else _of(self._kernel, parent)
        self._sets[seq] = self._sets_during(event)
        self._follow_functions(event)
        self._tensors.follow(event)
        if isinstance(event, ev.KernelSelected) and parent is not None:
            self._selected[parent] = event
        if isinstance(event, (ev.HistorySet, ev.HistoryRebased)):
            self._got_history(event)
        elif isinstance(event, ev.HookRegistered) and event.moved:
            self._moved[_of(self._kernel, parent), event.tensor] = event
        elif isinstance(event, ev.SourceLine):
            self._line = self._lines[parent] = self._lines[seq] = self._latest[event.file, event.line] = event
        elif seq in self._not_evaluated:
            return
        elif isinstance(event, ev.NodeStarted) and seq in self._hooks:
            self._before_hooks[seq] = event
        elif isinstance(event, ev.HookRan) and event.parent in self._before_hooks:
            self._after_hook(event)
        elif seq not in self._seen_by_one and isinstance(event, KEPT):
            self._keep(event)

    def _sets_during(self, event: ev.AnyEvent) -> Sets | None:
        """Return the thread-local sets during an event. A call has its own; those of a guard and a redispatch follow
        from the events around.
        """
        if isinstance(event, ev.GuardEntered):
            return event.included, event.excluded
        if isinstance(event, ev.Dispatched) and event.seq + 1 < len(self._trace):
            computed = self._trace[event.seq + 1]
            if isinstance(computed, ev.KeySetComputed):
                return computed.included, computed.excluded
        sets: Sets | None = _of(self._sets, event.parent)
        return sets

    def _follow_functions(self, event: ev.AnyEvent) -> None:
        """Continue a line that calls a custom Function after the lines of that function. Lines of a kernel in it are
        recorded.
        """
        parent, kernel = event.parent, self._kernel[event.seq]
        function = self._functions[event.seq] = event.seq if isinstance(event, UNSEEN) else _of(self._functions, parent)
        if isinstance(event, ev.SourceLine):
            is_recorded = kernel is not None and function is not None and function < kernel
            self._function = self._function if is_recorded else function
        elif self._function is not None and not self._is_in(event, self._function):
            while parent is not None and parent not in self._lines:
                parent = self._parents[parent]
            self._line, self._function = self._lines.get(parent), function

    def _is_in(self, event: ev.AnyEvent, function: int) -> bool:
        """Return whether an event happens in one of ``UNSEEN``."""
        around = self._functions[event.seq]
        while around is not None and around > function:
            around = _of(self._functions, self._parents[around])
        return around == function

    def _got_history(self, event: ev.HistorySet | ev.HistoryRebased) -> None:
        kernel = _of(self._kernel, event.parent)
        if kernel is not None:
            self._histories.setdefault(kernel, []).append(event)

    def _after_hook(self, event: ev.HookRan) -> None:
        assert event.parent is not None
        node = self._before_hooks.pop(event.parent)
        if event.seq not in self._seen_by_one:
            self._keep(event)
        if event.gradients:
            node = replace(node, gradients=event.gradients)
        if self._hooks[event.parent] == event.seq:
            self._keep(node)
        else:
            self._before_hooks[event.parent] = node

    # -- emitted events -----------------------------------------------------------------------------------------------

    def _keep(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.GradientAccumulated):
            self._accumulated.append(event)
            return
        if isinstance(event, (ev.NodeStarted, ev.BackwardFinished, ev.ProgramRaised)):
            self._emit_accumulated()
        if isinstance(event, ev.ProgramRaised) and self._line is not None and self._line.resumed:
            self._line = self._latest.get((event.file, event.line))  # and not the with statement that it leaves
        if not isinstance(event, (ev.NameBound, ev.BackwardFinished)):
            self._emit_line()
        seq, around = event.seq, self._within(event)
        for before in self._before(event):
            self._emit(before, around, seq)
        if isinstance(event, ev.Dispatched):
            around = self._guarded(event, around)
        for comparable in self._comparable(event):
            number = self._numbers[seq] = self._emit(comparable, around, seq)
            if isinstance(event, ev.NodeStarted) and around is not None:
                self._running[around] = number

    def _within(self, event: ev.AnyEvent) -> int | None:
        """Return the number of the new event around an event."""
        seq = event.parent
        while seq is not None and seq not in self._numbers:
            seq = self._parents.get(seq)
        number = self._outermost if seq is None else self._numbers[seq]
        if isinstance(event, ev.SourceLine) and seq is None:
            return None
        if number is None or isinstance(event, ev.NodeStarted):
            return number
        return self._running.get(number, number)

    def _emit_accumulated(self) -> None:
        waiting, self._accumulated = self._accumulated, []
        for event in waiting:
            self._emit(replace(event, why=""), self._within(event), event.seq)

    def _emit_line(self) -> None:
        """Emit the current line if something is recorded on it, unless it is still or again the last one."""
        line, self._line = self._line, None
        if line is None:
            return
        around = self._within(line)
        place = around, line.file, line.line, line.function
        if place[1:] == self._last[0][1:]:
            if line.resumed and around is not None:  # a hook without calls comes before
                self._numbers[line.seq] = around
                return
            if around is None and line.seq in self._numbers:  # a kernel's last line was this line, where it was called
                return
        if place != self._last[0]:
            number = self._emit(replace(line, caller=None, resumed=False, begins=False), around, line.seq)
            self._last = place, number
            self._outermost = number if around is None else self._outermost
        self._numbers[line.seq] = self._last[1]

    def _emit(self, event: ev.AnyEvent, around: int | None, step: int) -> int:
        """Add an event after the tensors that it is the first to name, and return its number."""
        for one in (*self._tensors.named_in(event), self._tensors.renumbered(event)):
            if isinstance(one, ev.TensorCreated) and len(one.shape) == 1 and self._asks_lapack(around):
                one = replace(one, shape=(1,))
            if isinstance(one, ev.TensorCreated) and one.value:
                one = replace(one, value=rounded(one.value))
            number = len(self.events)
            self.events.append(replace(one, seq=number, parent=around))
            self.steps.append(step)
        return number

    def _asks_lapack(self, around: int | None) -> bool:
        """Return whether an event is in a kernel that asks LAPACK for the size of a workspace, or in the creation of
        one.
        """
        calls = 0
        while around is not None and calls < 3:
            event = self.events[around]
            if isinstance(event, ev.Dispatched):
                calls += 1
                if event.operator in ASKING_LAPACK:
                    return True
            around = event.parent
        return False

    def _before(self, event: ev.AnyEvent) -> Iterator[ev.AnyEvent]:
        """Yield the Nodes that become visible at an event."""
        if isinstance(event, ev.KernelReturned):
            for history in self._histories_of(event):
                yield from self._nodes.met(history.node, with_members=True)
                yield history
                if (moved := self._moved.pop((event.parent, history.tensor), None)) is not None:
                    yield moved
        elif isinstance(event, ev.BackwardStarted):
            for node, _ in (*event.roots, *self._nodes.reached(event)):
                yield from self._nodes.met(node)
        elif isinstance(event, ev.HookRegistered) and event.node is not None:
            yield from self._nodes.met(event.node)

    def _histories_of(self, event: ev.KernelReturned) -> Iterator[ev.HistorySet | ev.HistoryRebased]:
        """Yield the new histories of results, and of the bases that an in-place operator writes to. A stale view among
        the arguments gets another Node when its grad_fn is read, and in PyTorch only the edge to that is recorded.
        """
        kernel = event.parent
        histories = self._histories.pop(-1 if kernel is None else kernel, [])
        selected = self._selected.get(_of(self._parents, kernel))
        rebases = selected is not None and _is_in_place(selected.operator)
        last = {history.tensor: history for history in histories}
        yield from (one for one in histories if one is last[one.tensor] and (rebases or one.tensor in event.tensors))

    def _guarded(self, event: ev.Dispatched, around: int | None) -> int | None:
        """Return the event around a call: a guard, if a kernel calls with other sets than its own."""
        kernel, now = _of(self._kernel, event.parent), self._sets[event.seq]
        before = _of(self._sets, kernel)
        if before is None or now is None or before == now:
            return around
        name = guard_name(before[0], now[0], before[1], now[1])
        return self._emit(ev.GuardEntered(0, None, name, before[0], now[0], before[1], now[1]), around, event.seq)

    def _comparable(self, event: ev.AnyEvent) -> Iterator[ev.AnyEvent]:
        """Yield an event without the facts that only one of the recorders has."""
        match event:
            case ev.Dispatched():
                yield replace(event, how=TYPED.get(event.how, event.how))
            case ev.KernelEntered():
                place = event.pytorch_file if self._places else ""
                yield replace(event, pytorch_file=place, file="", line=0, end_line=0)
            case ev.KernelSelected() if not self._places:
                yield replace(event, registered="")
            case ev.FallthroughSkipped() if not self._places:
                yield replace(event, keys=tuple((key, reason, "") for key, reason, _ in event.keys))
            case ev.BackwardStarted():
                yield replace(event, inputs=self._nodes.reached(event))
            case ev.NodeStarted():
                yield replace(event, waiting=None, file="", line=0, end_line=0)
            case ev.HookRegistered() | ev.HookRemoved() if event.hook is not None:
                yield replace(event, hook=self._seen_by_one.hooks[event.hook])
            case ev.HookRan(kind="tensor pre hook") if len(event.gradients) > 1:
                yield replace(event, gradients=())
            case ev.KernelReturned() if self._hands_back_self(event):
                yield replace(event, tensors=())
            case ev.BackwardFinished():
                return
            case ev.ProgramRaised():
                yield replace(event, file="", line=0, traceback="", message=of_any_run(event.message))
            case ev.NameBound():
                if self._tensors.is_known(event.tensor):
                    yield event
            case _:
                yield event

    def _hands_back_self(self, event: ev.KernelReturned) -> bool:
        """Return whether a fallback computed an in-place operator. The caller then gets the tensor that is written to,
        not the one that the fallback left on the stack (``BoxedKernelWrapper``), and PyTorch records only the latter.
        """
        selected = _of(self._selected, _of(self._parents, event.parent))
        return selected is not None and selected.reason == "backend fallback" and _is_in_place(selected.operator)


def _is_in_place(operator: str) -> bool:
    name = operator.partition("::")[2].partition(".")[0]
    return name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))


def _last_pre_hooks(events: Iterable[ev.AnyEvent]) -> dict[int, int]:
    """Return, for each Node that runs, the last hook that runs before it."""
    started, last = set[int](), dict[int, int]()
    for event in events:
        if isinstance(event, ev.NodeStarted):
            started.add(event.seq)
        elif isinstance(event, ev.HookRan) and event.parent in started and event.kind not in BEHIND_NODE:
            last[event.parent] = event.seq
    return last


def _of(known: dict[int, Any], seq: int | None) -> Any:
    return None if seq is None else known.get(seq)


def not_evaluated(trace: Trace) -> frozenset[int]:
    """Return the steps of Nodes that start but are not evaluated, because a hook before them raises.

    An installed PyTorch records a Node after its hooks, so it has no such steps.
    """
    if is_live(trace.header):
        return frozenset()
    leaves = {e.node: e.tensor for e in _of_kind(trace, ev.AccumulatorMade) if isinstance(e, ev.AccumulatorMade)}
    returned = {e.parent for e in _of_kind(trace, ev.NodeFinished)}
    started = (e for e in _of_kind(trace, ev.NodeStarted) if isinstance(e, ev.NodeStarted) and e.seq not in returned)
    return frozenset([e.seq for e in started if _raised(trace, e, leaves.get(e.node))])


def _of_kind(trace: Trace, kind: type[ev.Event]) -> list[ev.AnyEvent]:
    return [trace[step] for step in trace.steps_of(kind)]


def _raised(trace: Trace, started: ev.NodeStarted, leaf: int | None) -> bool:
    """Return whether a hook before the Node raised: there are more hooks than accepted return values."""
    there = [hook for hook in hooks_of(trace, started.node, leaf, started.seq) if hook.kind in BEFORE_NODE]
    ran = [e for e in trace.children(started.seq) if isinstance(e, ev.HookRan) and e.kind in BEFORE_NODE]
    return len(ran) < len(there)
