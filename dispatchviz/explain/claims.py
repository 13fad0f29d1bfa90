"""The facts about PyTorch that sentences state: small frozen classes, a closed union.

A claim names things by their numbers in the trace (tensors, Nodes) or by PyTorch's names (operators, keys, functions,
files), and says what PyTorch does or will do. Sentences are made beside their claims from the same values, so what was
checked is what is read. How PyTorch is asked about each is in ``tests/claims``.
"""

from __future__ import annotations

from msgspec import Struct


class NodeRuns(Struct, frozen=True):
    """Whether the engine evaluates a Node in a backward pass."""

    graph_task: int
    node: int
    runs: bool


class RunsBefore(Struct, frozen=True):
    """In a backward pass one Node is evaluated before another."""

    graph_task: int
    node: int
    other: int


class EdgesCounted(Struct, frozen=True):
    """How many edges lead to a Node from Nodes that a backward pass comes to."""

    graph_task: int
    node: int
    edges: int
    everywhere: bool
    """The pass looked at all Nodes; False: not behind those whose topological number is too small."""


class OutputDefined(Struct, frozen=True):
    """Whether a Node gives a gradient for one of its edges, or an undefined one."""

    graph_task: int
    node: int
    edge: int
    defined: bool


class GradCaptured(Struct, frozen=True):
    """Whether the engine gives a gradient for one of the inputs that ``grad`` asked for, or None."""

    graph_task: int
    position: int
    defined: bool


class GradWritten(Struct, frozen=True):
    """How an AccumulateGrad writes ``.grad`` of its leaf."""

    graph_task: int
    node: int
    how: str
    """``stolen``: the gradient's memory; ``copied``: other memory; ``added in place``: the tensor that was there;
    ``added out of place``: another one."""


class SavedTensorsFreed(Struct, frozen=True):
    """Saved tensors of a Node cannot be read any more."""

    node: int
    names: tuple[str, ...]
    """As derivatives.yaml has them; of a Function, ``saved_tensors``."""


class BackwardRefuses(Struct, frozen=True):
    """Whether evaluating a Node from here on raises, because a tensor that it saved was changed in place."""

    node: int
    name: str
    """Of the saved variable, as derivatives.yaml has it."""
    refuses: bool


class WriteRaises(Struct, frozen=True):
    """Whether an in-place write to a tensor raises here, grad mode being on, and with which text."""

    tensor: int
    message: str
    """How the error text begins; empty: it does not raise."""


class FunctionAt(Struct, frozen=True):
    """A function of PyTorch is declared or defined in a file of its sources."""

    function: str
    file: str


class FilledCells(Struct, frozen=True):
    """How many cells of an operator's table hold a kernel."""

    operator: str
    cells: int


class CellHolds(Struct, frozen=True):
    """What the cell of an operator for a key holds."""

    operator: str
    key: str
    kernel: str
    """Empty: nothing."""
    reason: str
    """PyTorch's tag."""


Claim = (
    NodeRuns | RunsBefore | EdgesCounted | OutputDefined | GradCaptured | GradWritten | SavedTensorsFreed
    | BackwardRefuses | WriteRaises
    | FunctionAt
    | FilledCells | CellHolds
)  # fmt: skip
