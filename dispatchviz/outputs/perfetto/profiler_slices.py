"""The slices and arrows that ``torch.profiler`` writes for a program, computed from its trace: same names, same
nesting.

A slice is the range of a ``RecordFunction``: an operator's ``call``, boxed or not, and no ``redispatch``
(``Dispatcher.h``); a Node that the engine evaluates, and its formula (``engine.cpp``, ``Node::operator()``); a custom
Function's ``apply``; ``detach`` in its autograd kernel (``VariableTypeManual.cpp``). An arrow leads from the call that
made a Node to that Node (``generateForwardBackwardLink`` in ``torch/csrc/profiler/kineto_shim.cpp``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.own_numbers import own_shown
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.outputs.perfetto.made_nodes import LARGEST, MadeNodes
from dispatchviz.outputs.perfetto.node_spans import (
    applied_until,
    evaluated_until,
    formula_of,
    inside_copy_slices,
    replaced_before,
)
from dispatchviz.outputs.perfetto.sequence_numbers import SequenceNumbers
from dispatchviz.outputs.perfetto.tensor_sizes import TensorSizes
from dispatchviz.outputs.perfetto.threads import Threads

EVALUATE = "autograd::engine::evaluate_function: "

UNOBSERVED = frozenset(
    {
        "aten::size",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
        "aten::is_complex",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
    }
)
"""Operators that the profiler does not record (``aten/src/ATen/core/dispatch/ObservedOperators.cpp``)."""

OBSERVED = frozenset({"call", "callBoxed"})
"""The dispatcher's methods that the profiler records."""

RECORDING_KERNELS = {"VariableType::detach": "detach", "VariableType::detach_": "detach_"}
"""Kernels that the profiler records, and the names of their slices."""


PYTHON_FALLBACK = {"mode": "PythonDispatchMode", "subclass": "PythonSubclass"}
"""The names of slices for a ``__torch_dispatch__`` that the fallback of the Python key calls
(``PythonFallbackKernel.cpp``).
"""


class Slice(NamedTuple):
    """A range of steps in a thread, including the last one."""

    begin: int
    end: int
    row: int
    name: str
    args: dict[str, Any]
    is_between: bool = False
    """True if it begins between its first step and the step before. No event reports that it begins."""

    @property
    def starts(self) -> float:
        """The time at which it begins: a step, or the gap before it (``LASTS``)."""
        return self.begin - (1 - LASTS) / 2 if self.is_between else self.begin


LASTS = 0.5
"""The part of a step that its slices take. The gap belongs to the next slice."""


class Arrow(NamedTuple):
    """An arrow from the beginning of one slice to that of another."""

    number: int
    begin: float
    begin_row: int
    end: float
    end_row: int


class ProfilerSlices:
    """The slices and arrows that the profiler would have written. It receives each event in order."""

    def __init__(self, trace: Trace, threads: Threads) -> None:
        self._trace = trace
        self._rows, self._threads = threads.of_step, threads
        self._numbers = SequenceNumbers(trace, threads)
        self._sizes = TensorSizes()
        self._ready: dict[int, list[Slice | Arrow]] = {}
        """Slices that begin at later steps."""
        self._forward: dict[tuple[int, int], Slice] = {}
        """The latest call by forward thread and sequence number."""
        self._nodes = MadeNodes()
        self._recording: dict[int, bool] = {}
        """For each thread, whether grad mode is on."""
        self._calls = trace.steps_of(ev.Dispatched)
        self._arrows = 0

    def see(self, event: ev.AnyEvent) -> Iterator[Slice | Arrow]:
        """Yield the slices that begin at a step, and arrows that end there."""
        self._sizes.see(event)
        self._nodes.see(event)
        yield from self._ready.pop(event.seq, ())
        match event:
            case ev.Dispatched():
                yield from self._call(event)
            case ev.KernelEntered() if event.kernel in RECORDING_KERNELS:
                yield self._kernel(event)
            case ev.TorchDispatchEntered() if not self._is_next_handler(event):
                yield self._slice(event.seq, PYTHON_FALLBACK[event.kind], {})
            case ev.NodeStarted():
                yield from self._node(event)
            case ev.NodeSkipped() if event.node in self._nodes.made:
                yield self._slice(event.seq, EVALUATE + self._nodes.made[event.node].name, {})
            case ev.FunctionEntered():
                yield self._function(event)
            case ev.GradModeChanged():
                self._recording[self._rows[event.seq]] = event.enabled
            case ev.InferenceModeChanged():
                self._recording[self._rows[event.seq]] = not event.enabled

    def _slice(self, begin: int, name: str, args: dict[str, Any], end: int | None = None) -> Slice:
        return Slice(begin, self._trace.ends[begin] if end is None else end, self._rows[begin], name, args)

    def _is_next_handler(self, entered: ev.TorchDispatchEntered) -> bool:
        """Return whether another handler of the same call returned NotImplemented."""
        around = [] if entered.parent is None else self._trace.children(entered.parent)
        return any(one.seq < entered.seq for one in around if isinstance(one, ev.TorchDispatchEntered))

    # -- forward ------------------------------------------------------------------------------------------------------

    def _call(self, call: ev.Dispatched) -> Iterator[Slice]:
        name = call.operator.partition(".")[0]
        if call.how not in OBSERVED or name in UNOBSERVED:
            return
        args: dict[str, Any] = {}
        if call.key_set & autograd_dispatch_keyset and self._recording.get(self._rows[call.seq], True):
            args = self._number(self._numbers.peek(call.seq))
        computed = self._trace[call.seq + 1] if call.seq + 1 < len(self._trace) else None
        if isinstance(computed, ev.KeySetComputed):
            args |= self._sizes.of_call(call.operator, computed)
        keys = own_shown(self._trace.header, call.key_set)
        args |= {"Operator": call.operator, "Dispatch key": call.key, "Dispatch key set": keys}
        made = self._slice(call.seq, name, args)
        self._keep(made)
        yield made

    def _kernel(self, entered: ev.KernelEntered) -> Slice:
        """Return the slice of a kernel for which the profiler records the first argument."""
        outer = within(self._trace, entered.parent, ev.KeySetComputed) if entered.parent is not None else None
        tensors = [tensor for _, tensor, _ in outer.arguments[:1]] if outer is not None else []
        args = self._sizes.of_tensors(tensors) if tensors else {}
        return self._slice(entered.seq, RECORDING_KERNELS[entered.kernel], args)

    def _function(self, entered: ev.FunctionEntered) -> Slice:
        node = self._nodes.made.get(entered.node)
        args = self._number(node.sequence_nr if node else None)
        made = self._slice(entered.seq, entered.function, args, applied_until(self._trace, entered))
        self._keep(made)
        return made

    @staticmethod
    def _number(number: int | None) -> dict[str, Any]:
        return {} if number is None else {"Sequence number": number, "Fwd thread id": 0}

    def _keep(self, made: Slice) -> None:
        number = made.args.get("Sequence number")
        if number is not None:
            self._forward[self._threads.numbers[made.row], number] = made

    # -- backward -----------------------------------------------------------------------------------------------------

    def _node(self, started: ev.NodeStarted) -> Iterator[Slice | Arrow]:
        number = self._number_of(started.node, started.sequence_nr)
        span = formula_of(self._trace, started, self._nodes.hooks_before(started.node))
        next_one = span is not None and not self._records_between(started.seq, span[0])
        until = evaluated_until(self._trace, started)
        yield self._slice(started.seq, EVALUATE + started.name, number if next_one else {}, until)
        if span is not None:
            sizes = self._sizes.of_tensors(started.gradients)
            if replaced_before(self._trace, started, span[0]):
                sizes.pop("Input Strides", None)  # a hook must keep the sizes, and may return other strides
            yield from self._formula_slices(started.seq, self._slice(span[0], started.name, number | sizes, span[1]))
        if started.node in self._nodes.inside:
            yield from self._inside(started, self._nodes.inside[started.node])

    def _inside(self, started: ev.NodeStarted, node: int) -> Iterator[Slice | Arrow]:
        """Yield the function that a CopySlices calls, with its arrow."""
        span, made = inside_copy_slices(self._trace, started), self._nodes.made[node]
        if span is not None:
            begin, end, gradient = span
            args = self._number_of(node, made.sequence_nr) | self._sizes.of_tensors([gradient])
            formula = self._slice(begin, made.name, args, end)._replace(is_between=True)  # after the clone
            yield from self._formula_slices(started.seq, formula)

    def _number_of(self, node: int, sequence_nr: int) -> dict[str, Any]:
        made = self._nodes.made.get(node)
        thread = made.thread if made is not None else 1
        return {} if sequence_nr == LARGEST else {"Sequence number": sequence_nr, "Fwd thread id": thread}

    def _formula_slices(self, step: int, formula: Slice) -> Iterator[Slice | Arrow]:
        """Yield a formula with its arrow, or keep them until the step at which the formula begins."""
        parts: list[Slice | Arrow] = [formula, *self._arrow(formula)]
        if formula.begin == step:
            yield from parts
        else:
            self._ready.setdefault(formula.begin, []).extend(parts)

    def _records_between(self, begin: int, end: int) -> bool:
        """Return whether the profiler records anything between two steps.

        ``set_autograd_evaluate`` gives the number of a formula to the slice just before it
        (``torch/csrc/profiler/collection.cpp``).
        """
        calls = self._calls
        between = calls[bisect_right(calls, begin) : bisect_left(calls, end)]
        return any(event.how in OBSERVED for event in map(self._trace.__getitem__, between))  # type: ignore[union-attr]

    def _arrow(self, formula: Slice) -> Iterator[Arrow]:
        """Yield the arrow from the forward call with the same number, if there is one. Each call has one arrow."""
        key = formula.args.get("Fwd thread id", 0), formula.args.get("Sequence number", NO_NUMBER)
        call = self._forward.pop(key, None)
        if call is not None:
            self._arrows += 1
            yield Arrow(self._arrows, call.starts, call.row, formula.starts, formula.row)


NO_NUMBER = -1
