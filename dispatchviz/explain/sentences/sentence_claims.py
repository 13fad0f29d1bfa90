"""The facts about PyTorch that sentences state: small frozen classes, a closed union.

A claim names things by their numbers in the trace (tensors, Nodes) or by PyTorch's names (operators, keys, functions,
files), and says what PyTorch does or will do. Sentences are made beside their claims from the same values, so what was
checked is what is read. How each is checked against PyTorch is in ``tests/claims``.
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
    """How many edges lead to a Node from the Nodes that a backward pass reaches."""

    graph_task: int
    node: int
    edges: int
    everywhere: bool
    """All Nodes above this one were looked at; False: some have too small a topological number."""


class TopologicalBelow(Struct, frozen=True):
    """The topological number of a Node in the graph of a pass, its longest way to a Node without edges, is smaller."""

    graph_task: int
    node: int
    number: int


class OutputDefined(Struct, frozen=True):
    """Whether a Node returns a gradient for one of its edges, or an undefined one."""

    graph_task: int
    node: int
    edge: int
    defined: bool


class GradCaptured(Struct, frozen=True):
    """Whether the engine returns a gradient for one of the inputs of ``grad``, or None."""

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


class BackwardRaises(Struct, frozen=True):
    """Whether evaluating a Node from here on raises, because a tensor that it saved was changed in place."""

    node: int
    name: str
    """Of the saved variable, as derivatives.yaml has it."""
    raises: bool
    message: str = ""
    """How the error text begins, if it does."""


class NodeRaises(Struct, frozen=True):
    """Evaluating a Node raises, whatever its gradients are."""

    node: int
    message: str
    """What the error text has."""


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
    numbers: tuple[int, ...]
    """Which input of those; 0 for an empty edge."""


class SavedBytes(Struct, frozen=True):
    """How much memory the elements of a tensor take."""

    tensor: int
    size: int


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


class BindingOf(Struct, frozen=True):
    """A function that Python calls is that C++ function."""

    function: str
    """``torch.add``, ``Tensor.add``."""
    name: str
    """``THPVariable_add``."""


class SchemaOf(Struct, frozen=True):
    """The schema of an operator, as PyTorch prints it."""

    operator: str
    schema: str


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
    """What a cell of an operator holds after a registration, or a deregistration, and nothing else."""

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
    """The cells that a call with ordinary tensors of one backend visits, as far as the table says it."""

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


class BackendKeys(Struct, frozen=True):
    """The key set of an ordinary tensor of a backend key, made outside inference mode."""

    backend: str
    raw: int


class NamedSet(Struct, frozen=True):
    """A set that has a name in PyTorch."""

    name: str
    """``after_autograd_keyset``; ``FULL_AFTER(Python)``."""
    raw: int


class AliasKeys(Struct, frozen=True):
    """Which runtime keys an alias covers."""

    alias: str
    keys: tuple[str, ...]


class FallbackIs(Struct, frozen=True):
    """What a key has for operators that register nothing better: ``none``, ``fallthrough`` or ``kernel``."""

    key: str
    fallback: str


class OperatorsRegistered(Struct, frozen=True):
    """How many of PyTorch's own operators have a kernel under a key or alias itself."""

    key: str
    operators: int


class OperatorsServed(Struct, frozen=True):
    """How many of PyTorch's own operators have a kernel in the cell of a key."""

    key: str
    operators: int


class Unparsable(Struct, frozen=True):
    """PyTorch cannot parse the name of a key."""

    key: str


class AutogradKernel(Struct, frozen=True):
    """What the kernel that an operator has at the alias Autograd does."""

    operator: str
    records: str
    """The name of the Node that it makes; ``out``: nothing, it raises; ``not implemented``: a Node that raises."""


class CallsWithin(Struct, frozen=True):
    """How many operators a function of PyTorch's Python code calls with a tensor, those within kernels included."""

    tensor: int
    function: str
    """``Tensor.__repr__``"""
    calls: int


class Shape(Struct, frozen=True):
    """The sizes of a tensor."""

    tensor: int
    shape: tuple[int, ...]


class StructuredFunction(Struct, frozen=True):
    """PyTorch has a meta or impl function of that name."""

    function: str
    """``structured_add_Tensor::meta``"""


class SchemaKind(Struct, frozen=True):
    """Which of the three forms of a structured operator one is."""

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
