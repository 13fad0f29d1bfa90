"""Things with questions: a tensor, a Node, an entry of an operator's dispatch table."""

from __future__ import annotations

from msgspec import Struct


class TensorThing(Struct, frozen=True, gc=False):
    """A tensor of a trace."""

    number: int


class NodeThing(Struct, frozen=True, gc=False):
    """A backward Node of a trace."""

    number: int


class CellThing(Struct, frozen=True, gc=False):
    """An entry of the dispatch table of one of PyTorch's operators."""

    operator: str
    key: str


Thing = TensorThing | NodeThing | CellThing
