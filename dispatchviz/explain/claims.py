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


class BackwardRefuses(Struct, frozen=True):
    """Whether evaluating a Node from here on raises, because a tensor that it saved was changed in place."""

    node: int
    name: str
    """Of the saved variable, as derivatives.yaml has it."""
    refuses: bool
    message: str = ""
    """How the error text begins, if it does."""


class WriteRaises(Struct, frozen=True):
    """Whether an in-place write to a tensor raises from here on, grad mode being on, and with which text."""

    tensor: int
    message: str
    """What the error text has; empty: it does not raise."""
    value_requires_grad: bool = False
    """What is written requires grad."""


class NodeKeeps(Struct, frozen=True):
    """What a Node has in the slot of a saved variable, right after it was saved."""

    node: int
    name: str
    """Of the saved variable, as derivatives.yaml has it."""
    tensor: int | None
    """None: nothing."""


class NodeEdges(Struct, frozen=True):
    """Where the edges of a Node lead."""

    node: int
    targets: tuple[str, ...]
    """Names of Nodes; empty for an empty edge."""


class History(Struct, frozen=True):
    """The ``grad_fn`` of a tensor right now."""

    tensor: int
    output_nr: int
    nodes: tuple[str, ...]
    """Names of the Nodes from the ``grad_fn`` on, along first edges; they may go on."""


class TensorKeys(Struct, frozen=True):
    """The key set of a tensor."""

    tensor: int
    key_set: int


class Version(Struct, frozen=True):
    """The version of a tensor right now."""

    tensor: int
    version: int


class RequiresGrad(Struct, frozen=True):
    """Whether a tensor requires grad right now."""

    tensor: int
    requires_grad: bool


class View(Struct, frozen=True):
    """A tensor is a view for autograd."""

    tensor: int
    base: int


class Dtype(Struct, frozen=True):
    """The dtype of a tensor."""

    tensor: int
    dtype: str
    """``torch.bfloat16``"""


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
    NodeRuns | FunctionAt | FilledCells | CellHolds
    | BackwardRefuses | WriteRaises | NodeKeeps | NodeEdges | History
    | TensorKeys | Version | RequiresGrad | View | Dtype
)  # fmt: skip
