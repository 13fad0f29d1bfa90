"""The founding program's add, sum and backward as a trace made by hand: the facts are PyTorch's, no machine is needed.

Numbers and names are those of PyTorch 2.13 for two CUDA tensors: sets 0x801400010002, 0x1000010002, 0x10002; cells
97 and 2; masks as they follow from ATen's registrations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace

PROGRAM = """\
import torch
device = torch.device("cuda")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()
"""

CUDA = 0x801400010002
INCLUDED, EXCLUDED = 0x404000000, 0x1FF8000000000
BELOW = 0x3C00000000
ADD_MASK = 0x3FD7387BFBFFFFFF
NO_NUMBER = 2**64 - 1
X, Y, Z, SUM, ONE, EXPANDED = range(6)
ACCUMULATE, ADD, TOTAL = 1, 0, 2

FALLTHROUGHS = (
    ("ADInplaceOrView", "backend fallback", "registered at aten/src/ATen/core/VariableFallbackKernel.cpp:103"),
    ("BackendSelect", "backend fallback", "registered at aten/src/ATen/core/BackendSelectFallbackKernel.cpp:3"),
)
AUTOGRAD_CANDIDATES = (
    ("AutogradCUDA", "nothing registered", ""),
    ("CompositeImplicitAutograd", "nothing registered", ""),
    ("Autograd", "taken", "VariableType::add_Tensor"),
    ("AutogradCUDA", "not reached", "autograd_fallback"),
)


class Tape:
    """A recorder that appends events. Those in a ``with within(...)`` block are the children of that event."""

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] = []
        self.open: int | None = None

    def add(self, kind: Any, *fields: Any) -> int:
        """Append an event and give its seq."""
        self.events.append(kind(len(self.events), self.open, *fields))
        return len(self.events) - 1

    @contextmanager
    def within(self, kind: Any, *fields: Any) -> Iterator[int]:
        before, self.open = self.open, self.add(kind, *fields)
        yield self.open
        self.open = before

    @contextmanager
    def call(
        self, how: str, operator: str, keys: int, key: str, cell: tuple[Any, ...], *computed: Any
    ) -> Iterator[int]:
        """A dispatch with its kernel open; ``cell`` is (index, kernel, reason, source, candidates)."""
        index, kernel, reason, source, candidates = cell
        with self.within(ev.Dispatched, how, operator, keys, key) as seq:
            for kind, *fields in computed:
                self.add(kind, *fields)
            where = "registered at torch/csrc/autograd/generated/VariableType_2.cpp:10455"
            self.add(ev.KernelSelected, operator, key, index, kernel, reason, source, where, candidates)
            with self.within(
                ev.KernelEntered, kernel, "torch/csrc/autograd/generated/VariableType_2.cpp", keys, "", 0, 0
            ):
                yield seq

    def trace(self, **header: Any) -> Trace:
        known = {"cuda": "emulated on NumPy (no GPU)", "program": "forum.py", "sources": {"forum.py": PROGRAM}}
        return Trace(Header(**known | header), self.events)


def founding(x_grad: bool = True, y_grad: bool = False, add_to: Tape | None = None) -> Trace:
    """The whole trace; the two flags say which operands require grad."""
    tape = add_to or Tape()
    _tensors(tape, x_grad, y_grad)
    with tape.within(ev.SourceLine, "forum.py", 6):
        _add(tape, x_grad or y_grad, (ACCUMULATE, 0) if x_grad else None, (3, 0) if y_grad else None)
        tape.add(ev.NameBound, "z", Z)
    with tape.within(ev.SourceLine, "forum.py", 7):
        _backward(tape)
    return tape.trace()


def _tensors(tape: Tape, x_grad: bool, y_grad: bool) -> None:
    for line, tensor, name, shape in ((3, X, "x", (2, 2)), (4, Y, "y", (2,))):
        with tape.within(ev.SourceLine, "forum.py", line):
            strides = (2, 1)[-len(shape) :]
            fields = ("new", shape, strides, "torch.float32", "cuda:0", CUDA, tensor, False, False)
            tape.add(ev.TensorCreated, tensor, *fields)
            tape.add(ev.NameBound, name, tensor)
    with tape.within(ev.SourceLine, "forum.py", 5):
        tape.add(ev.RequiresGradSet, X, x_grad)
        if y_grad:
            tape.add(ev.RequiresGradSet, Y, True)


def _add(tape: Tape, node: bool, *edges: tuple[int, int] | None) -> None:
    signature = "add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
    given = (("input", "t0"), ("other", "t1"), ("alpha", "1"), ("out", "None"))
    binding = ("torch.add", "THPVariable_add", signature, 1, given, "aten::add.Tensor")
    arguments = (("self", X, CUDA), ("other", Y, CUDA))
    computed = (ev.KeySetComputed, arguments, INCLUDED, EXCLUDED, ADD_MASK, 0x1000010002)
    skipped = (ev.FallthroughSkipped, FALLTHROUGHS)
    cell = (97, "VariableType::add_Tensor", "autograd kernel", "Autograd", AUTOGRAD_CANDIDATES)
    call = tape.call("call", "aten::add.Tensor", 0x1000010002, "AutogradCUDA", cell, computed, skipped)
    with tape.within(ev.BindingEntered, *binding), call:
        if node:
            _node(tape, edges)
        else:
            tape.add(ev.NoNodeMade, "aten::add.Tensor", "no input requires grad")
        guard = ("AutoDispatchBelowADInplaceOrView", INCLUDED, INCLUDED, EXCLUDED, EXCLUDED | BELOW)
        with tape.within(ev.GuardEntered, *guard):
            _add_below(tape)
            tape.add(ev.GuardLeft, guard[0], INCLUDED, EXCLUDED)
        if node:
            tape.add(ev.HistorySet, Z, ADD, 0)
        tape.add(ev.KernelReturned, (Z,))


def _node(tape: Tape, edges: tuple[tuple[int, int] | None, ...]) -> None:
    tape.add(ev.NodeCreated, ADD, "AddBackward0", 0, 0, 1)
    for edge, tensor in zip(edges, (X, Y), strict=True):
        if edge:
            tape.add(ev.NodeCreated, edge[0], "torch::autograd::AccumulateGrad", NO_NUMBER, 0, 1)
            tape.add(ev.AccumulatorMade, edge[0], tensor)
    tape.add(ev.EdgesCollected, ADD, edges, (("self", X), ("other", Y)), 1)
    tape.add(ev.AttributeSaved, ADD, "alpha", "1")


def _add_below(tape: Tape) -> None:
    cell = (2, "wrapper_CUDA_add_Tensor", "kernel", "CUDA", (("CUDA", "taken", "wrapper_CUDA_add_Tensor"),))
    with tape.call("redispatch", "aten::add.Tensor", 0x10002, "CUDA", cell):
        with tape.within(ev.MetaEntered, "structured_add_Tensor::meta"):
            tape.add(ev.TensorCreated, Z, "new", (2, 2), (2, 1), "torch.float32", "cuda:0", CUDA, Z, False, False)
            tape.add(
                ev.OutputAllocated, "functional", Z, False, "set_output_raw_strided", None, (2, 2), "torch.float32"
            )
        with tape.within(ev.ImplEntered, "structured_ufunc_add_CUDA::impl", (Z,), "", 0, 0):
            pass
        tape.add(ev.KernelReturned, (Z,))


def _backward(tape: Tape) -> None:
    tape.add(ev.TensorCreated, SUM, "new", (), (), "torch.float32", "cuda:0", CUDA, SUM, False, False)
    tape.add(ev.NodeCreated, TOTAL, "SumBackward0", 1, 0, 1)
    tape.add(ev.EdgesCollected, TOTAL, ((ADD, 0),), (("self", Z),), 2)
    tape.add(ev.HistorySet, SUM, TOTAL, 0)
    tape.add(ev.TensorCreated, ONE, "new", (), (), "torch.float32", "cuda:0", CUDA, ONE, False, False)
    with tape.within(ev.BackwardStarted, 0, ((TOTAL, 0),), (ONE,), False, False, True, 0):
        tape.add(ev.GradModeChanged, False, "backward without create_graph")
        tape.add(ev.DependenciesCounted, ((ADD, 1), (ACCUMULATE, 1)))
        for node, name, number, arriving, leaving in (
            (TOTAL, "SumBackward0", 1, ONE, (EXPANDED,)),
            (ADD, "AddBackward0", 0, EXPANDED, (EXPANDED, None)),
            (ACCUMULATE, "torch::autograd::AccumulateGrad", NO_NUMBER, EXPANDED, ()),
        ):
            _run(tape, node, name, number, arriving, leaving)
        tape.add(ev.BackwardFinished, 0)


def _run(tape: Tape, node: int, name: str, number: int, arriving: int, leaving: tuple[int | None, ...]) -> None:
    tape.add(ev.NodeQueued, node, number, "cuda:0", ((node, number),))
    with tape.within(ev.NodeStarted, node, name, number, (arriving,), (), "cuda:0", "pt_autograd_0", "", 0, 0):
        if node == TOTAL:
            shape = ((2, 2), (0, 0), "torch.float32", "cuda:0", CUDA, ONE, False, False)
            tape.add(ev.TensorCreated, EXPANDED, "new", *shape)
        if not leaving:
            why = "another tensor uses its memory"
            tape.add(ev.GradientAccumulated, X, EXPANDED, EXPANDED + 1, "copied", why)
        tape.add(ev.NodeFinished, node, leaving)
