"""The backward graph with its pictures: what ``trace.backward_graph()`` gives, and files by suffix.

What is in the graph is decided in ``explain/graph/backward_graph.py``, what of it is folded in ``folding.py`` there,
what is drawn in ``dot.py`` and ``folded_dot.py``. A picture is made in any case: what Graphviz cannot lay out is drawn
plainly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph import backward_graph as explain
from dispatchviz.explain.graph.graph_fold import Fold, Repeat, boxes, folded, repeats
from dispatchviz.explain.graph.node_groups import Cluster
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.garbage_collection import collector_waits
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.picture.dot import Drawing, drawing, legend
from dispatchviz.outputs.picture.drawn_picture import check_theme, suffix_of, write_picture
from dispatchviz.outputs.picture.picture_options import USUAL, Detail, Options, Theme
from dispatchviz.outputs.picture.png import png
from dispatchviz.outputs.picture.svg import RenderError, check_size, pdf, svg
from dispatchviz.outputs.picture.theme import themed

FOLDED_ABOVE = 150
"""Nodes. A graph with more is folded unless somebody asks for all of it."""

MOST = 100
"""So many boxes a folded graph has at most, besides those that were asked for."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What a file holds, and what should be said of it."""

    data: bytes
    note: str = ""
    """How big the graph is and what was folded, or why it is drawn plainly; empty if all is drawn as always."""
    is_folded: bool = False


class BackwardGraph(explain.BackwardGraph):
    """The backward Nodes as of a step, as a value that can draw itself."""

    def dot(self) -> str:
        """The whole graph in Graphviz's language."""
        return drawing(self).source

    def svg(
        self,
        *,
        folded: bool | None = None,
        expand: Iterable[str] = (),
        detail: Detail = "saved",
        cluster: Cluster = "none",
        theme: Theme = "light",
        since: int | None = None,
    ) -> str:
        """The picture; its arguments are those of the method ``render``."""
        return picture(self, ".svg", folded, tuple(expand), Options(detail, cluster, theme, since)).data.decode()

    def __repr__(self) -> str:
        return f"<Backward graph of {shown(self.header.program)}: {len(self):,} Node{'' if len(self) == 1 else 's'}>"

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; nothing of an empty graph."""
        return self.svg() if len(self) else None

    def _repr_html_(self) -> str:
        """The same, for a notebook that is not trusted: an image, which nothing takes out."""
        from dispatchviz.outputs.cell.html import image, paragraph

        told = f"The backward graph of {self.header.program}"
        return image(self.svg(), told) if len(self) else paragraph(f"{told} has no Nodes.")

    def _repr_markdown_(self) -> str:
        from dispatchviz.outputs.hand_out.marks import fenced

        return "\n".join(fenced(self.dot(), "dot"))

    def render(
        self,
        path: str | Path,
        *,
        folded: bool | None = None,
        expand: Iterable[str] = (),
        detail: Detail = "saved",
        cluster: Cluster = "none",
        theme: Theme = "light",
        since: int | None = None,
    ) -> str:
        """Write the picture, by suffix: .svg, .png, .pdf or .dot. Gives a note if anything is to be said of it.

        ``folded``: what repeats is drawn once, other Nodes in a row as one box; left out, this is done if there are
        more than 150 Nodes, and never in a .dot file. ``expand`` names Nodes that are drawn one by one nevertheless: by
        sequence number (``"585"``), by range (``"580-589"``), by the name of a Node or a leaf. ``detail`` says how much
        is written, each more than the one before: ``"names"``, ``"edges"``, ``"saved"``, ``"all"``. ``cluster`` draws
        frames around what comes from one ``"module"``, ``"function"`` or ``"line"``. ``theme`` is ``"light"`` or
        ``"dark"``, or ``"auto"``: an SVG that does as its reader's browser prefers. ``since`` is an earlier step: what
        has changed since then is marked.

        Raises RenderError for another suffix, for an empty graph, and if the file cannot be written; DispatchvizError
        for a name that fits no Node.
        """
        return render(self, path, folded, tuple(expand), Options(detail, cluster, theme, since))


def backward_graph(trace: Trace, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
    """As ``explain.backward_graph.backward_graph``."""
    with collector_waits():
        graph = explain.backward_graph(trace, at, of)
    return BackwardGraph(**vars(graph))


def render(
    graph: explain.BackwardGraph,
    path: str | Path,
    folded: bool | None = None,
    expand: Collection[str] = (),
    options: Options = USUAL,
) -> str:
    """Write a picture of a graph, by the suffix of the file's name. Gives a note, as ``BackwardGraph.render`` does."""
    drawn = picture(graph, suffix_of(path), folded, expand, options)
    write_picture(path, drawn.data)
    return drawn.note


def picture(
    graph: explain.BackwardGraph,
    suffix: str,
    folded: bool | None = None,
    expand: Collection[str] = (),
    options: Options = USUAL,
) -> Picture:
    """What a file with one of ``picture_file.SUFFIXES`` holds.

    Raises RenderError for an empty graph, and for a PDF or a PNG if what they need is missing; DispatchvizError if
    ``expand`` names no Node.
    """
    check_theme(suffix, options.theme)
    with collector_waits():
        return _picture(graph, suffix, folded, expand, options)


def _picture(
    graph: explain.BackwardGraph, suffix: str, folded: bool | None, expand: Collection[str], options: Options
) -> Picture:
    if not len(graph):
        when = f" as of step {graph.at}" if graph.at < len(graph.trace) - 1 else ""
        raise RenderError(f"nothing to draw: {graph.header.program} has no backward Nodes{when}")
    wanted = bool(expand) or suffix != ".dot" if folded is None else folded
    fold = None
    if wanted and (len(graph) > FOLDED_ABOVE or folded):
        from dispatchviz.explain.graph.folding import fold_graph

        fold = fold_graph(graph, MOST, expand, options.cluster, options.boxed)
    elif expand:
        from dispatchviz.explain.graph.selected_nodes import selected_nodes

        selected_nodes(graph, expand)
    return _made(graph, fold, suffix, options)


def _made(graph: explain.BackwardGraph, fold: Fold | None, suffix: str, options: Options) -> Picture:
    note = "" if fold is None else fold_note(graph, fold)
    if suffix in (".dot", ".pdf"):
        drawn = _drawing(graph, fold, options)
        return Picture(drawn.source.encode() if suffix == ".dot" else pdf(drawn), note, fold is not None)
    try:
        if fold is None:
            check_size(len(graph))
        text = svg(_drawing(graph, fold, options), options.theme)
    except RenderError as error:
        text = themed(_plain(graph, fold), options.theme)
        note = "; ".join(filter(None, [note, f"{error}; this one has a row for each box"]))
    finish: dict[str, Callable[[str], bytes]] = {".svg": str.encode, ".png": png}
    return Picture(finish[suffix](text), note, fold is not None)


def _drawing(graph: explain.BackwardGraph, fold: Fold | None, options: Options) -> Drawing:
    if fold is None:
        return drawing(graph, options)
    from dispatchviz.outputs.picture.folded_dot import folded_drawing

    return folded_drawing(graph, fold, options)


def _plain(graph: explain.BackwardGraph, fold: Fold | None) -> str:
    from dispatchviz.explain.graph.folding import links_of
    from dispatchviz.outputs.picture.folded_dot import title
    from dispatchviz.outputs.picture.folded_picture import folded_picture
    from dispatchviz.outputs.picture.plain_svg import plain_svg

    found = folded_picture(graph, fold or folded(links_of(graph), tuple(range(len(graph)))))
    lines = title(graph, found) if fold else [f"Backward graph of {graph.header.program}", *legend(graph)]
    return plain_svg(found, lines)


def fold_note(graph: explain.BackwardGraph, fold: Fold) -> str:
    """``748 Nodes are folded into 15 boxes: 12 times 61 Nodes and 3 times 2 Nodes``"""
    found = [f"{repeat.iterations:,} times {_what(repeat, fold)}" for repeat in repeats(fold.items)]
    shown = found if len(found) <= MOST_NAMED else [*found[:MOST_NAMED], f"{len(found) - MOST_NAMED} more repeats"]
    which = f": {listed(shown)}" if found else ""
    return f"{len(graph):,} Nodes are folded into {boxes(fold.items):,} boxes{which}"


def _what(repeat: Repeat, fold: Fold) -> str:
    return fold.names[repeat.start] if repeat.period == 1 else f"{repeat.period:,} Nodes"


MOST_NAMED = 3
"""Repeats in a note."""
