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


class CellAfter(Struct, frozen=True):
    """What a cell of an operator holds after a registration, or after one was taken away, and nothing else changed."""

    operator: str
    change: str
    """``impl``: a kernel more; ``fallthrough``: a fallthrough more; ``without``: the active kernel less."""
    under: str
    """The key or alias of the registration."""
    key: str
    kernel: str
    reason: str


class StaleAfter(Struct, frozen=True):
    """Which cells PyTorch leaves out of date after such a change."""

    operator: str
    change: str
    under: str
    keys: tuple[str, ...]


class CallVisits(Struct, frozen=True):
    """The cells that a call with ordinary tensors of one backend comes to, as far as the table says it."""

    operator: str
    backend: str
    keys: tuple[str, ...]
    """In order; the last one ends the call, by its kernel or because it is empty."""
    change: str = ""
    under: str = ""
    """After such a change; empty: as things are."""


class MissingRaises(Struct, frozen=True):
    """A call of an operator that lands in the empty cell of a key raises NotImplementedError."""

    operator: str
    key: str
    message: str
    """How the error's text begins."""


class TensorKeys(Struct, frozen=True):
    """The key set of an ordinary tensor of a backend key, made outside inference mode."""

    backend: str
    raw: int


class NamedSet(Struct, frozen=True):
    """A set that has a name in PyTorch."""

    name: str
    """``after_autograd_keyset``; ``FULL_AFTER(Python)``."""
    raw: int


class AliasKeys(Struct, frozen=True):
    """Which runtime keys an alias stands for."""

    alias: str
    keys: tuple[str, ...]


class AutogradKernel(Struct, frozen=True):
    """What the kernel that an operator has at the alias Autograd does."""

    operator: str
    records: str
    """The name of the Node that it makes; ``out``: nothing, it refuses; ``not implemented``: a Node that raises."""


Claim = (
    NodeRuns
    | BackwardRefuses
    | WriteRaises
    | FunctionAt
    | FilledCells
    | CellHolds
    | CellAfter
    | StaleAfter
    | CallVisits
    | MissingRaises
    | TensorKeys
    | NamedSet
    | AliasKeys
    | AutogradKernel
)
