"""What can be asked about: a tensor, a Node, a cell of an operator's table."""

from __future__ import annotations

from msgspec import Struct


class TensorThing(Struct, frozen=True, gc=False):
    """A tensor of a trace."""

    number: int


class NodeThing(Struct, frozen=True, gc=False):
    """A backward Node of a trace."""

    number: int


class CellThing(Struct, frozen=True, gc=False):
    """A cell of the table of an operator that PyTorch has."""

    operator: str
    key: str


Thing = TensorThing | NodeThing | CellThing
