"""Nodes in the order in which something first happened to them, of which a stretch is taken without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self


@dataclass(frozen=True, slots=True)
class NodesByAge:
    """A stretch of a list of Nodes."""

    nodes: Sequence[int]
    places: Mapping[int, int]
    """Where each is in the whole list."""
    low: int
    high: int

    @classmethod
    def of(cls, nodes: Sequence[int]) -> Self:
        """A whole list."""
        return cls(nodes, {node: place for place, node in enumerate(nodes)}, 0, len(nodes))

    def __len__(self) -> int:
        return max(self.high - self.low, 0)

    def __iter__(self) -> Iterator[int]:
        return islice(self.nodes, self.low, max(self.high, self.low))

    def between(self, low: int, high: int) -> NodesByAge:
        """Those from one place to before another."""
        return NodesByAge(self.nodes, self.places, self.low + low, min(self.low + high, self.high))

    def place(self, node: int | None) -> int | None:
        """Where a Node is; None if it is not among them."""
        place = None if node is None else self.places.get(node)
        return place - self.low if place is not None and self.low <= place < self.high else None
