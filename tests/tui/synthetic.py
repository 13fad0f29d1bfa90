"""Handmade traces, for tests of the stepper that must not depend on the machine: a small one with everything on its
screens, a big one for speed, and any nesting for hypothesis.
"""

from __future__ import annotations

from msgspec import structs

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from tests.explain import founding
from tests.explain.founding import BELOW, CUDA, EXCLUDED, INCLUDED, NO_NUMBER, PROGRAM

ADD_MASK = 0x3FFFFFFFFFFFFFFF & ~0x400000000
EFFECTIVE, BELOW_AUTOGRAD = 0x1000010002, 0x10002
OWN_SOURCE = ("tui/text.py", 50, 62)  # any of our functions will do
VARIABLE_TYPE = "torch/csrc/autograd/generated/VariableType_2.cpp"


class Tape(founding.Tape):
    """A builder of traces from any text, with a notice about their file."""

    def trace(self, program: str = "forum.py", text: str = PROGRAM, notice: str = "", cuda: str = "") -> Trace:
        cuda = cuda or "emulated on NumPy (CuPy is not installed)"
        return Trace(Header(cuda=cuda, program=program, sources={program: text}), self.events, notice)


def forum() -> Trace:
    """The forum program, from the moment that x requires grad."""
    tape = Tape()
    _tensors(tape)
    with tape.within(ev.SourceLine, "forum.py", 5):
        tape.add(ev.RequiresGradSet, 0, True)
    with tape.within(ev.SourceLine, "forum.py", 6):
        _add(tape)
    tape.add(ev.NameBound, "z", 2)
    with tape.within(ev.SourceLine, "forum.py", 7):
        _sum(tape)
        _backward(tape)
    return tape.trace()


def _tensors(tape: Tape) -> None:
    for number, (line, name, shape) in enumerate([(3, "x", (2, 2)), (4, "y", (2,))]):
        stride = (2, 1) if number == 0 else (1,)
        with tape.within(ev.SourceLine, "forum.py", line):
            created = (shape, stride, "torch.float32", "cuda:0", CUDA, number, False, False)
            tape.add(ev.TensorCreated, number, "new", *created)
        tape.add(ev.NameBound, name, number)


def _add(tape: Tape) -> None:
    arguments = (("input", "t0"), ("other", "t1"), ("alpha", "1"))
    signature = "add(Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None)"
    op = "aten::add.Tensor"
    with (
        tape.within(ev.BindingEntered, "torch.add", "THPVariable_add", signature, 2, arguments, op),
        tape.within(ev.Dispatched, "call", op, EFFECTIVE, "AutogradCUDA"),
    ):
        both = (("self", 0, CUDA), ("other", 1, CUDA))
        tape.add(ev.KeySetComputed, both, INCLUDED, EXCLUDED, ADD_MASK & ~0x4000000, EFFECTIVE)
        skipped = (
            ("BackendSelect", "backend fallback", "aten/src/ATen/core/BackendSelectFallbackKernel.cpp:3"),
            ("ADInplaceOrView", "backend fallback", "aten/src/ATen/core/VariableFallbackKernel.cpp:104"),
        )
        tape.add(ev.FallthroughSkipped, skipped)
        _selected(tape, op, "AutogradCUDA", 109, "VariableType::add_Tensor", "autograd kernel", "Autograd")
        with tape.within(ev.KernelEntered, "VariableType::add_Tensor", VARIABLE_TYPE, EFFECTIVE, *OWN_SOURCE):
            _add_node(tape)
            with tape.within(ev.GuardEntered, "AutoDispatchBelowADInplaceOrView", 0, 0, EXCLUDED, EXCLUDED | BELOW):
                _add_below(tape, op)
                tape.add(ev.GuardLeft, "AutoDispatchBelowADInplaceOrView", 0, EXCLUDED)
            tape.add(ev.HistorySet, 2, 0, 0)
            tape.add(ev.KernelReturned, (2,))


def _selected(tape: Tape, op: str, key: str, cell: int, kernel: str, reason: str, source: str) -> None:
    candidates = ((key, "nothing registered", ""), ("CompositeExplicitAutograd", "not reached", ""))
    taken = (source, "taken", kernel)
    tape.add(
        ev.KernelSelected, op, key, cell, kernel, reason, source, "registered at RegisterX.cpp:1", (*candidates, taken)
    )


def _add_node(tape: Tape) -> None:
    tape.add(ev.NodeCreated, 0, "AddBackward0", 0, 0, 1)
    tape.add(ev.NodeCreated, 1, "torch::autograd::AccumulateGrad", NO_NUMBER, 0, 1)
    tape.add(ev.AccumulatorMade, 1, 0)
    tape.add(ev.EdgesCollected, 0, ((1, 0), None), (("self", 0), ("other", 1)), 1)
    tape.add(ev.AttributeSaved, 0, "alpha", "1")


def _add_below(tape: Tape, op: str) -> None:
    with tape.within(ev.Dispatched, "redispatch", op, BELOW_AUTOGRAD, "CUDA"):
        _selected(tape, op, "CUDA", 2, "wrapper_CUDA_add_Tensor", "kernel", "CUDA")
        file = ("RegisterCUDA_0.cpp", BELOW_AUTOGRAD, "", 0, 0)
        with tape.within(ev.KernelEntered, "wrapper_CUDA_add_Tensor", *file):
            with tape.within(ev.MetaEntered, "structured_add_Tensor::meta"):
                created = ((2, 2), (2, 1), "torch.float32", "cuda:0", CUDA, 2, False, False)
                tape.add(ev.TensorCreated, 2, "new", *created)
                tape.add(
                    ev.OutputAllocated, "functional", 2, False, "set_output_raw_strided", None, (2, 2), "torch.float32"
                )
            with tape.within(ev.ImplEntered, "structured_ufunc_add_CUDA::impl", (2,), "", 0, 0):
                pass
            tape.add(ev.KernelReturned, (2,))


def _sum(tape: Tape) -> None:
    op = "aten::sum"
    with (
        tape.within(ev.BindingEntered, "Tensor.sum", "THPVariable_sum", "sum(*, ScalarType? dtype=None)", 1, (), op),
        tape.within(ev.Dispatched, "call", op, EFFECTIVE, "AutogradCUDA"),
    ):
        tape.add(ev.KeySetComputed, (("self", 2, CUDA),), INCLUDED, EXCLUDED, ADD_MASK & ~0x4000000, EFFECTIVE)
        _selected(tape, op, "AutogradCUDA", 109, "VariableType::sum", "autograd kernel", "Autograd")
        with tape.within(ev.KernelEntered, "VariableType::sum", VARIABLE_TYPE, EFFECTIVE, "", 0, 0):
            tape.add(ev.NodeCreated, 2, "SumBackward0", 1, 0, 1)
            tape.add(ev.EdgesCollected, 2, ((0, 0),), (("self", 2),), 2)
            created = ((), (), "torch.float32", "cuda:0", CUDA, 3, False, False)
            tape.add(ev.TensorCreated, 3, "new", *created)
            tape.add(ev.HistorySet, 3, 2, 0)
            tape.add(ev.KernelReturned, (3,))


def _backward(tape: Tape) -> None:
    created = ((), (), "torch.float32", "cuda:0", CUDA, 4, False, False)
    tape.add(ev.TensorCreated, 4, "new", *created)
    with tape.within(ev.BackwardStarted, 0, ((2, 0),), (4,), False, False, True, 0):
        tape.add(ev.DependenciesCounted, ((0, 1), (1, 1)))
        tape.add(ev.NodeQueued, 2, 1, "cuda:0", ((2, 1),))
        nodes = [(2, "SumBackward0", 1), (0, "AddBackward0", 0), (1, "torch::autograd::AccumulateGrad", NO_NUMBER)]
        for (node, name, number), following in zip(nodes, [0, 1, None], strict=True):
            with tape.within(ev.NodeStarted, node, name, number, (4,), (), "cuda:0", "pt_autograd_0", "", 0, 0):
                if following is None:
                    tape.add(ev.GradientAccumulated, 0, 4, 4, "stolen", "it is the first gradient")
                tape.add(ev.NodeFinished, node, (4,))
            if following is not None:
                tape.add(ev.GradientBuffered, following, 0, 4, "stored", "it is the first")
                tape.add(ev.DependencyMet, following, 0)
                tape.add(ev.NodeQueued, following, 0, "cuda:0", ((following, 0),))
        tape.add(ev.BackwardFinished, 0)


def raising() -> Trace:
    """The trace of a program that fails inside an operator."""
    tape = Tape()
    with (
        tape.within(ev.SourceLine, "bad.py", 1),
        tape.within(ev.Dispatched, "call", "aten::add_.Tensor", EFFECTIVE, "AutogradCUDA"),
    ):
        tape.add(ev.ErrorRaised, "RuntimeError", "a leaf Variable that requires grad is being used in place")
    tape.add(ev.ProgramRaised, "RuntimeError", "a leaf Variable that requires grad is being used in place", "bad.py", 1)
    return tape.trace("bad.py", "x.add_(1)\n")


def awkward(text: str) -> Trace:
    """The trace of a program with ``text`` in every place where a program or a library can put its own words."""
    tape = Tape()
    name = text.replace("\n", " ")
    with tape.within(ev.SourceLine, name, 1):
        tape.add(ev.Printed, text)
        tape.add(ev.NameBound, name, 0)
        with (
            tape.within(ev.BindingEntered, name, name, text, 1, ((name, text),), f"aten::{name}"),
            tape.within(ev.Dispatched, "call", f"my::{name}", EFFECTIVE, "AutogradCUDA"),
        ):
            tape.add(ev.KeySetComputed, ((name, 0, CUDA),), INCLUDED, EXCLUDED, ADD_MASK, EFFECTIVE)
            tape.add(ev.FallthroughSkipped, (("ADInplaceOrView", "backend fallback", text),))
            _selected(tape, f"my::{name}", "AutogradCUDA", 109, name, "autograd kernel", "Autograd")
            with tape.within(ev.KernelEntered, name, text, EFFECTIVE, "", 0, 0):
                tape.add(ev.NodeCreated, 0, name, 0, 0, 1)
                tape.add(ev.EdgesCollected, 0, (None,), ((name, 0),), 1)
                tape.add(ev.AttributeSaved, 0, name, text)
                tape.add(ev.Unknown, name, text)
                tape.add(ev.ErrorRaised, name, text)
    tape.add(ev.ProgramRaised, "RuntimeError", text, name, 1)
    return tape.trace(name, f"{text}\n", notice=text, cuda=f"emulated on NumPy ({text})")


def big(events: int) -> Trace:
    """The trace of a repeated add, with ``events`` events."""
    tape = Tape()
    _tensors(tape)
    while len(tape.events) < events:
        shift = len(tape.events)
        with tape.within(ev.SourceLine, "forum.py", 6):
            _add(tape)
        tape.events[shift:] = [_renumbered(event, shift) for event in tape.events[shift:]]
    return tape.trace()


def _renumbered(event: ev.AnyEvent, shift: int) -> ev.AnyEvent:
    """The event with its own tensors and Nodes; the first two tensors stay the operands."""
    match event:
        case ev.TensorCreated() | ev.HistorySet() | ev.OutputAllocated():
            event = structs.replace(event, tensor=event.tensor + shift)
        case ev.KernelReturned() | ev.ImplEntered():
            event = structs.replace(event, tensors=tuple(tensor + shift for tensor in event.tensors))
        case ev.EdgesCollected():
            event = structs.replace(event, edges=((1 + shift, 0), None))
    return structs.replace(event, node=event.node + shift) if hasattr(event, "node") else event


def nested(parents: list[int]) -> Trace:
    """The trace with one event per number. The number selects its parent among the events that can still be open (0:
    none).
    """
    tape, open_ = Tape(), list[int]()
    for pick in parents:
        del open_[pick % (len(open_) + 1) :]
        tape.open = open_[-1] if open_ else None
        open_.append(
            tape.add(ev.SourceLine, "forum.py", 1) if pick % 3 == 0 else tape.add(ev.GuardEntered, "g", 0, 0, 0, 0)
        )
    return tape.trace()
