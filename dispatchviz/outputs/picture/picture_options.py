"""How a picture is to look: how much is said in it, what its frames are, its colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dispatchviz.explain.graph.folded_modules import Boxed
from dispatchviz.explain.graph.node_groups import Cluster

Detail = Literal["names", "edges", "saved", "all"]
"""Each says what the ones before it say, and more: the Nodes' names; what their edges belong to; what they save, their
numbers, hooks and views; and what made them, topological numbers and the bytes that they keep."""

DETAILS: tuple[Detail, ...] = ("names", "edges", "saved", "all")
CLUSTERS: tuple[Cluster, ...] = ("module", "function", "line", "none")

Theme = Literal["light", "dark", "auto"]
"""``auto``: as the reader's browser prefers; only an SVG can be."""

THEMES: tuple[Theme, ...] = ("light", "dark", "auto")


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may choose."""

    detail: Detail = "saved"
    cluster: Cluster = "none"
    theme: Theme = "light"
    since: int | None = None
    """A step: what has changed since then is marked."""
    boxed: Boxed | None = None
    """Of a folded graph with frames around modules: each module is one box instead."""

    def says(self, detail: Detail) -> bool:
        """Return whether that much is said."""
        return DETAILS.index(self.detail) >= DETAILS.index(detail)


USUAL = Options()
