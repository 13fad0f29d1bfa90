"""The options of a picture: its level of detail, its frames, its colors."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dispatchviz.explain.graph.folded_modules import Boxed
from dispatchviz.explain.graph.node_groups import Cluster

Detail = Literal["names", "edges", "saved", "all"]
"""The levels of detail. Each adds to the one before: the Nodes' names; the arguments of their edges; their saved
values, numbers, hooks and views; their origins, topological numbers and the bytes that they keep.
"""

DETAILS: tuple[Detail, ...] = ("names", "edges", "saved", "all")
CLUSTERS: tuple[Cluster, ...] = ("module", "function", "line", "none")

Theme = Literal["light", "dark", "auto"]
"""The theme. ``auto`` follows the reader's browser and is only for an SVG."""

THEMES: tuple[Theme, ...] = ("light", "dark", "auto")


class Options(Struct, frozen=True):
    """The options that a reader may choose."""

    detail: Detail = "saved"
    cluster: Cluster = "none"
    theme: Theme = "light"
    since: int | None = None
    """A step. Changes since then are marked."""
    boxed: Boxed | None = None
    """True for a folded graph with frames around modules in which each module is one box instead."""
    of_many_steps: bool = False
    """True if the picture is shown at many steps, so that it must say nothing about the last one."""

    def says(self, detail: Detail) -> bool:
        """Return whether the picture has this level of detail."""
        return DETAILS.index(self.detail) >= DETAILS.index(detail)


USUAL = Options()
