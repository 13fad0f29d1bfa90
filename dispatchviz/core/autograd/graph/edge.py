"""Edge: the next Node, and which of its inputs receives the gradient (``torch/csrc/autograd/edge.h``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node


class Edge(Struct, frozen=True):
    """Input ``input_nr`` of ``function``. An empty edge keeps its index in a list, since positions are argument
    positions.

    It is a Struct, since several are created for every operation.
    """

    function: Node | None
    input_nr: int


EMPTY_EDGE = Edge(None, 0)
