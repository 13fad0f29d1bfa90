"""The facts about PyTorch that sentences state: named tuples, a closed union.

A claim names things by their numbers in the trace (tensors, Nodes) or by PyTorch's names (operators, keys, functions,
files), and states what PyTorch does or will do. Sentences and claims come from the same values, so a check of the claim
is a check of the text. ``tests/claims`` checks each claim against PyTorch.

Not here: the claims about dispatch tables and keys (``table_claims.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.explain.sentences.table_claims import (
    AliasKeys,
    AutogradKernel,
    BackendKeys,
    CallVisits,
    CellAfter,
    CellHolds,
    FallbackIs,
    FilledCells,
    MissingRaises,
    NamedSet,
    OperatorsRegistered,
    OperatorsServed,
    StaleAfter,
    Unparsable,
)


class NodeRuns(NamedTuple):
    """The claim that the engine evaluates a Node in a backward pass, or that it does not."""

    graph_task: int
    node: int
    runs: bool


class RunsBefore(NamedTuple):
    """The claim that a backward pass evaluates one Node before another."""

    graph_task: int
    node: int
    other: int


class EdgesCounted(NamedTuple):
    """The number of edges that lead to a Node from the Nodes that a backward pass reaches."""

    graph_task: int
    node: int
    edges: int
    everywhere: bool
    """True if the engine visits all Nodes above this one; False if some have too small a topological number."""


class TopologicalBelow(NamedTuple):
    """An upper bound of a Node's topological number in the graph of a pass: its longest path to a Node without
    edges.
    """

    graph_task: int
    node: int
    number: int


class OutputDefined(NamedTuple):
    """The claim that a Node returns a gradient for one of its edges, or an undefined one."""

    graph_task: int
    node: int
    edge: int
    defined: bool


class GradCaptured(NamedTuple):
    """The claim that the engine returns a gradient for one of the inputs of ``grad``, or None."""

    graph_task: int
    position: int
    defined: bool


class GradWritten(NamedTuple):
    """The way in which an AccumulateGrad writes ``.grad`` of its leaf."""

    graph_task: int
    node: int
    how: str
    """``stolen``: the memory of the gradient; ``copied``: other memory; ``added in place``: the tensor that was there;
    ``added out of place``: another tensor.
    """


class SavedTensorsFreed(NamedTuple):
    """The claim that saved tensors of a Node can no longer be read."""

    node: int
    names: tuple[str, ...]
    """The names in derivatives.yaml; ``saved_tensors`` for a Function."""


class BackwardRaises(NamedTuple):
    """The claim that evaluating a Node later raises an error or not, because a saved tensor was changed in place."""

    node: int
    name: str
    """The name of the saved variable in derivatives.yaml."""
    raises: bool
    message: str = ""
    """The beginning of the error text; empty if there is no error."""


class NodeRaises(NamedTuple):
    """The claim that evaluating a Node always raises an error."""

    node: int
    message: str
    """A part of the error text."""


class WriteRaises(NamedTuple):
    """The claim that a later in-place write to a tensor raises an error in grad mode, or that it does not."""

    tensor: int
    message: str
    """A part of the error text; empty if there is no error."""
    value_requires_grad: bool = False
    """True if the written value requires grad."""


class NodeKeeps(NamedTuple):
    """The content of a Node's saved variable, right after it was saved."""

    node: int
    name: str
    """The name of the saved variable in derivatives.yaml."""
    tensor: int | None
    """None if the variable is empty."""


class NodeEdges(NamedTuple):
    """The targets of a Node's edges."""

    node: int
    targets: tuple[str, ...]
    """Names of Nodes; empty for an empty edge."""
    numbers: tuple[int, ...]
    """The input of each target; 0 for an empty edge."""


class SavedBytes(NamedTuple):
    """The bytes that the elements of a tensor take."""

    tensor: int
    size: int


class History(NamedTuple):
    """The ``grad_fn`` of a tensor at this step."""

    tensor: int
    output_nr: int
    nodes: tuple[str, ...]
    """The names of the Nodes from the ``grad_fn`` on, along first edges. The chain may go on."""


class TensorKeys(NamedTuple):
    """The key set of a tensor."""

    tensor: int
    key_set: int


class Version(NamedTuple):
    """The version of a tensor at this step."""

    tensor: int
    version: int


class RequiresGrad(NamedTuple):
    """The claim that a tensor requires grad at this step, or that it does not."""

    tensor: int
    requires_grad: bool


class View(NamedTuple):
    """The claim that a tensor is a view for autograd."""

    tensor: int
    base: int


class Dtype(NamedTuple):
    """The dtype of a tensor."""

    tensor: int
    dtype: str
    """``torch.bfloat16``"""


class BindingOf(NamedTuple):
    """The C++ function behind a function that Python calls."""

    function: str
    """``torch.add``, ``Tensor.add``."""
    name: str
    """``THPVariable_add``."""


class SchemaOf(NamedTuple):
    """The schema of an operator, as PyTorch prints it."""

    operator: str
    schema: str


class CallsWithin(NamedTuple):
    """The number of operators that a Python function of PyTorch calls for a tensor, including calls by kernels."""

    tensor: int
    function: str
    """``Tensor.__repr__``"""
    calls: int


class Shape(NamedTuple):
    """The sizes of a tensor."""

    tensor: int
    shape: tuple[int, ...]


class StructuredFunction(NamedTuple):
    """The claim that PyTorch has a meta or impl function of that name."""

    function: str
    """``structured_add_Tensor::meta``"""


class SchemaKind(NamedTuple):
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
