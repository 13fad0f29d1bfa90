"""The facts about PyTorch that sentences state: small frozen classes, a closed union.

A claim names things by their numbers in the trace (tensors, Nodes) or by PyTorch's names (operators, keys, functions,
files), and states what PyTorch does or will do. Sentences and claims come from the same values, so a check of the claim
is a check of the text. ``tests/claims`` checks each claim against PyTorch.
"""

from __future__ import annotations

from msgspec import Struct


class NodeRuns(Struct, frozen=True):
    """The claim that the engine evaluates a Node in a backward pass, or that it does not."""

    graph_task: int
    node: int
    runs: bool


class RunsBefore(Struct, frozen=True):
    """The claim that a backward pass evaluates one Node before another."""

    graph_task: int
    node: int
    other: int


class EdgesCounted(Struct, frozen=True):
    """The number of edges that lead to a Node from the Nodes that a backward pass reaches."""

    graph_task: int
    node: int
    edges: int
    everywhere: bool
    """True if the engine visits all Nodes above this one; False if some have too small a topological number."""


class TopologicalBelow(Struct, frozen=True):
    """An upper bound of a Node's topological number in the graph of a pass: its longest path to a Node without
    edges.
    """

    graph_task: int
    node: int
    number: int


class OutputDefined(Struct, frozen=True):
    """The claim that a Node returns a gradient for one of its edges, or an undefined one."""

    graph_task: int
    node: int
    edge: int
    defined: bool


class GradCaptured(Struct, frozen=True):
    """The claim that the engine returns a gradient for one of the inputs of ``grad``, or None."""

    graph_task: int
    position: int
    defined: bool


class GradWritten(Struct, frozen=True):
    """The way in which an AccumulateGrad writes ``.grad`` of its leaf."""

    graph_task: int
    node: int
    how: str
    """``stolen``: the memory of the gradient; ``copied``: other memory; ``added in place``: the tensor that was there;
    ``added out of place``: another tensor.
    """


class SavedTensorsFreed(Struct, frozen=True):
    """The claim that saved tensors of a Node can no longer be read."""

    node: int
    names: tuple[str, ...]
    """The names in derivatives.yaml; ``saved_tensors`` for a Function."""


class BackwardRaises(Struct, frozen=True):
    """The claim that evaluating a Node later raises an error or not, because a saved tensor was changed in place."""

    node: int
    name: str
    """The name of the saved variable in derivatives.yaml."""
    raises: bool
    message: str = ""
    """The beginning of the error text; empty if there is no error."""


class NodeRaises(Struct, frozen=True):
    """The claim that evaluating a Node always raises an error."""

    node: int
    message: str
    """A part of the error text."""


class WriteRaises(Struct, frozen=True):
    """The claim that a later in-place write to a tensor raises an error in grad mode, or that it does not."""

    tensor: int
    message: str
    """A part of the error text; empty if there is no error."""
    value_requires_grad: bool = False
    """True if the written value requires grad."""


class NodeKeeps(Struct, frozen=True):
    """The content of a Node's saved variable, right after it was saved."""

    node: int
    name: str
    """The name of the saved variable in derivatives.yaml."""
    tensor: int | None
    """None if the variable is empty."""


class NodeEdges(Struct, frozen=True):
    """The targets of a Node's edges."""

    node: int
    targets: tuple[str, ...]
    """Names of Nodes; empty for an empty edge."""
    numbers: tuple[int, ...]
    """The input of each target; 0 for an empty edge."""


class SavedBytes(Struct, frozen=True):
    """The bytes that the elements of a tensor take."""

    tensor: int
    size: int


class History(Struct, frozen=True):
    """The ``grad_fn`` of a tensor at this step."""

    tensor: int
    output_nr: int
    nodes: tuple[str, ...]
    """The names of the Nodes from the ``grad_fn`` on, along first edges. The chain may go on."""


class TensorKeys(Struct, frozen=True):
    """The key set of a tensor."""

    tensor: int
    key_set: int


class Version(Struct, frozen=True):
    """The version of a tensor at this step."""

    tensor: int
    version: int


class RequiresGrad(Struct, frozen=True):
    """The claim that a tensor requires grad at this step, or that it does not."""

    tensor: int
    requires_grad: bool


class View(Struct, frozen=True):
    """The claim that a tensor is a view for autograd."""

    tensor: int
    base: int


class Dtype(Struct, frozen=True):
    """The dtype of a tensor."""

    tensor: int
    dtype: str
    """``torch.bfloat16``"""


class BindingOf(Struct, frozen=True):
    """The C++ function behind a function that Python calls."""

    function: str
    """``torch.add``, ``Tensor.add``."""
    name: str
    """``THPVariable_add``."""


class SchemaOf(Struct, frozen=True):
    """The schema of an operator, as PyTorch prints it."""

    operator: str
    schema: str


class FilledCells(Struct, frozen=True):
    """The number of entries of an operator's dispatch table that hold a kernel."""

    operator: str
    cells: int


class CellHolds(Struct, frozen=True):
    """The kernel in the dispatch table entry of an operator for a key."""

    operator: str
    key: str
    kernel: str
    """The kernel's name; empty if the entry is empty."""
    reason: str
    """PyTorch's tag."""


class CellAfter(Struct, frozen=True):
    """The content of a dispatch table entry after one registration or deregistration."""

    operator: str
    change: str
    """``impl``: one more kernel; ``fallthrough``: one more fallthrough; ``without``: the active kernel is gone."""
    under: str
    """The key or alias of the registration."""
    key: str
    kernel: str
    reason: str


class StaleAfter(Struct, frozen=True):
    """The dispatch table entries that PyTorch leaves out of date after this change."""

    operator: str
    change: str
    under: str
    keys: tuple[str, ...]


class CallVisits(Struct, frozen=True):
    """The dispatch table entries that a call with ordinary tensors of one backend visits, as far as the table
    decides.
    """

    operator: str
    backend: str
    keys: tuple[str, ...]
    """The keys, in order. The last one ends the call, by its kernel or because its entry is empty."""
    change: str = ""
    under: str = ""
    """The key or alias of the change; empty if nothing changes."""


class MissingRaises(Struct, frozen=True):
    """The claim that a call raises NotImplementedError if it lands in the empty entry of a key."""

    operator: str
    key: str
    message: str
    """The beginning of the error text."""


class BackendKeys(Struct, frozen=True):
    """The key set of an ordinary tensor of a backend key, created outside inference mode."""

    backend: str
    raw: int


class NamedSet(Struct, frozen=True):
    """A set that has a name in PyTorch."""

    name: str
    """``after_autograd_keyset``; ``FULL_AFTER(Python)``."""
    raw: int


class AliasKeys(Struct, frozen=True):
    """The runtime keys that an alias covers."""

    alias: str
    keys: tuple[str, ...]


class FallbackIs(Struct, frozen=True):
    """The fallback of a key, for operators that register nothing better: ``none``, ``fallthrough`` or ``kernel``."""

    key: str
    fallback: str


class OperatorsRegistered(Struct, frozen=True):
    """The number of PyTorch's operators with a kernel for a key or alias itself."""

    key: str
    operators: int


class OperatorsServed(Struct, frozen=True):
    """The number of PyTorch's operators with a kernel in the entry of a key."""

    key: str
    operators: int


class Unparsable(Struct, frozen=True):
    """The claim that PyTorch cannot parse the name of a key."""

    key: str


class AutogradKernel(Struct, frozen=True):
    """The effect of the kernel that an operator has for the alias Autograd."""

    operator: str
    records: str
    """The name of the Node that it creates; ``out``: no Node, but an error; ``not implemented``: a Node that raises an
    error.
    """


class CallsWithin(Struct, frozen=True):
    """The number of operators that a Python function of PyTorch calls for a tensor, including calls by kernels."""

    tensor: int
    function: str
    """``Tensor.__repr__``"""
    calls: int


class Shape(Struct, frozen=True):
    """The sizes of a tensor."""

    tensor: int
    shape: tuple[int, ...]


class StructuredFunction(Struct, frozen=True):
    """The claim that PyTorch has a meta or impl function of that name."""

    function: str
    """``structured_add_Tensor::meta``"""


class SchemaKind(Struct, frozen=True):
    """The form of a structured operator."""

    operator: str
    kind: str
    """``functional``, ``in-place``, ``out``"""


Claim = (
    NodeRuns
    | RunsBefore
    | EdgesCounted
    | TopologicalBelow
    | OutputDefined
    | GradCaptured
    | GradWritten
    | SavedTensorsFreed
    | BackwardRaises
    | NodeRaises
    | WriteRaises
    | BindingOf
    | SchemaOf
    | FilledCells
    | CellHolds
    | CellAfter
    | StaleAfter
    | CallVisits
    | MissingRaises
    | BackendKeys
    | NamedSet
    | AliasKeys
    | FallbackIs
    | OperatorsRegistered
    | OperatorsServed
    | Unparsable
    | AutogradKernel
    | NodeKeeps
    | NodeEdges
    | SavedBytes
    | History
    | TensorKeys
    | Version
    | RequiresGrad
    | View
    | Dtype
    | CallsWithin
    | Shape
    | StructuredFunction
    | SchemaKind
)
