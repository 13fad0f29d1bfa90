"""The backward graph with its pictures: the value of ``trace.backward_graph()``, and files by suffix.

``explain/graph/backward_graph.py`` decides the contents of the graph, ``folding.py`` there which parts are folded, and
``dot.py`` and ``folded_dot.py`` here how they are drawn. There is always a picture: if Graphviz cannot lay out a graph,
it is drawn as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

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
"""The number of Nodes above which a graph is folded, unless all of it was requested."""

MOST = 100
"""The largest number of boxes in a folded graph, besides those that were requested."""


class Picture(Struct, frozen=True):
    """The content of a file, and a note about it."""

    data: bytes
    note: str = ""
    """The size of the graph and what was folded, or the reason why it is drawn as rows; empty if all of it is drawn as
    usual.
    """
    is_folded: bool = False


class BackwardGraph(explain.BackwardGraph, frozen=True):
    """The backward Nodes as of a step, as a value that can draw itself."""

    def dot(self) -> str:
        """Return the whole graph in Graphviz's language."""
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
        """Return the picture. The arguments are those of the method ``render``."""
        return picture(self, ".svg", folded, tuple(expand), Options(detail, cluster, theme, since)).data.decode()

    def __repr__(self) -> str:
        return f"<Backward graph of {shown(self.header.program)}: {len(self):,} Node{'' if len(self) == 1 else 's'}>"

    def _repr_svg_(self) -> str | None:
        """Return the SVG for notebooks, or None for an empty graph."""
        return self.svg() if len(self) else None

    def _repr_html_(self) -> str:
        """Return the picture for a notebook that is not trusted: an image, which no front end removes."""
        from dispatchviz.outputs.cell.html import image, paragraph

        alt = f"The backward graph of {self.header.program}"
        return image(self.svg(), alt) if len(self) else paragraph(f"{alt} has no Nodes.")

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
        """Write the picture in the format of its suffix: .svg, .png, .pdf or .dot. Return a note, which may be empty.

        ``folded`` draws repeats once, and other Nodes in a row as one box. By default graphs with more than 150 Nodes
        are folded, but never in a .dot file. ``expand`` names Nodes that are drawn one by one nevertheless: by sequence
        number (``"585"``), by range (``"580-589"``), by the name of a Node or a leaf. ``detail`` says how much is
        written, each more than the one before: ``"names"``, ``"edges"``, ``"saved"``, ``"all"``. ``cluster`` draws
        frames around the Nodes of one ``"module"``, ``"function"`` or ``"line"``. ``theme`` is ``"light"``, ``"dark"``
        or ``"auto"``, which is an SVG that follows the reader's browser. ``since`` is an earlier step; changes since
        then are marked.

        Raise RenderError for another suffix, for an empty graph, and if the file cannot be written. Raise
        DispatchvizError for a name that fits no Node.
        """
        return render(self, path, folded, tuple(expand), Options(detail, cluster, theme, since))


def backward_graph(trace: Trace, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
    """Return the graph of ``explain.backward_graph.backward_graph``, as a value that can draw itself."""
    with collector_waits():
        graph = explain.backward_graph(trace, at, of)
    return BackwardGraph(**asdict(graph))


def render(
    graph: explain.BackwardGraph,
    path: str | Path,
    folded: bool | None = None,
    expand: Collection[str] = (),
    options: Options = USUAL,
) -> str:
    """Write a picture of a graph in the format of the file's suffix. Return a note, as ``BackwardGraph.render``
    does.
    """
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
    """Return the content of a file with one of ``picture_file.SUFFIXES``.

    Raise RenderError for an empty graph, and for a PDF or a PNG if the programs for it are missing. Raise
    DispatchvizError if ``expand`` names no Node.
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
        note = "; ".join(filter(None, [note, f"{error}; so the picture has a row for each box"]))
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
    """Return the note about folding: ``748 Nodes are folded into 15 boxes: 12 times 61 Nodes and 3 times 2 Nodes``."""
    found = [f"{repeat.iterations:,} times {_repeated_nodes(repeat, fold)}" for repeat in repeats(fold.items)]
    shown = found if len(found) <= MOST_NAMED else [*found[:MOST_NAMED], f"{len(found) - MOST_NAMED} more repeats"]
    which = f": {listed(shown)}" if found else ""
    return f"{len(graph):,} Nodes are folded into {boxes(fold.items):,} boxes{which}"


def _repeated_nodes(repeat: Repeat, fold: Fold) -> str:
    return fold.names[repeat.start] if repeat.period == 1 else f"{repeat.period:,} Nodes"


MOST_NAMED = 3
"""The number of repeats that a note lists."""
