"""The backward graph as data: pictures that are laid out once, and the look of each Node from step to step."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.folded_modules import Boxed
from dispatchviz.explain.graph.folding import fold_graph, fold_order
from dispatchviz.explain.graph.graph_fold import Fold, Item, Repeat, everywhere, repeats, sections, start
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.explain.graph.node_groups import groups
from dispatchviz.explain.graph.selected_nodes import selector
from dispatchviz.outputs.page.graph_scenes import Scene, scenes
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.tracks import differences
from dispatchviz.outputs.picture.dot import as_drawn, node_texts
from dispatchviz.outputs.picture.folded_picture import Box, folded_picture
from dispatchviz.outputs.picture.graph_picture import FOLDED_ABOVE, MOST, picture
from dispatchviz.outputs.picture.picture_options import Options
from dispatchviz.outputs.picture.svg import RenderError

MOST_SCENES = 24
"""The number of graphs that are drawn: the first ones and the last."""

MOST_WHOLE = 300
"""The number of Nodes above which a graph is only drawn folded."""

MOST_OPENED = 8
"""The number of boxes of a folded graph that can be unfolded one by one."""

LEAST_FOLDED = 0.8
"""The part of its boxes to which folding must reduce a graph; otherwise it is not drawn folded too."""

COMES_AND_GOES = (
    ev.BackwardStarted,
    ev.DependenciesCounted,
    ev.ExecInfoPopulated,
    ev.BackwardFinished,
    ev.ErrorRaised,
    ev.ProgramRaised,
    ev.NameBound,
    ev.HookRegistered,
    ev.HookRemoved,
)
"""Events that may change the look of a Node that they do not mention."""


def graph_data(trace: Trace, lines: Lines, kept: Collection[int]) -> dict[str, object]:
    """Return the scenes for the steps in ``kept``, and the words for each state."""
    found = scenes(trace)
    drawn = _drawn(found, kept)
    return {
        "states": {state.name.lower(): state.value for state in State},
        "begins": differences(scene.begin for scene in found),
        "scenes": [_scene(trace, scene, lines) if scene in drawn else None for scene in found],
    }


def _drawn(found: list[Scene], kept: Collection[int]) -> list[Scene]:
    shown = [scene for scene in found if any(at in kept for at in range(scene.begin, scene.end + 1))]
    return shown if len(shown) <= MOST_SCENES else [*shown[: MOST_SCENES - 1], shown[-1]]


def _scene(trace: Trace, scene: Scene, lines: Lines) -> dict[str, object] | None:
    graph = scene.graph_at(trace, scene.end)
    layouts = list(_layouts(trace, scene, graph, lines))
    if not layouts:
        return None
    coming = sorted(_with_ends(trace, trace.steps_of(*COMES_AND_GOES)))
    nodes = {number: _life(trace, scene, number, coming, lines) for number in graph.nodes} if len(graph) else {}
    return {"layouts": layouts, "nodes": nodes}


# -- from step to step -------------------------------------------------------------------------------------------------


def _life(trace: Trace, scene: Scene, number: int, coming: Sequence[int], lines: Lines) -> dict[str, object]:
    """Return the steps at which the look of a Node changes, with its state and the texts in its box."""
    steps, states, texts = list[int](), list[str](), list[list[int]]()
    for step in _steps(trace, scene, number, coming):
        graph = scene.graph_at(trace, step)
        node = graph.nodes.get(number)
        if node is None:
            continue
        title, state, facts = node_texts(graph, node)
        look = node.state.name.lower(), [lines.text(text) for text in (title, state, *facts)]
        if not steps or (states[-1], texts[-1]) != look:
            steps.append(step)
            states.append(look[0])
            texts.append(look[1])
    return {"steps": differences(steps), "states": states, "texts": texts, "made": history(trace).events.first(number)}


def _steps(trace: Trace, scene: Scene, number: int, coming: Sequence[int]) -> Iterator[int]:
    """Yield the steps at which a Node may change. At those in ``coming`` any Node may."""
    known = history(trace)
    first = known.events.first(number)
    own = _with_ends(trace, (first, *known.events.steps(number)))
    others = coming[bisect_left(coming, first) : bisect_right(coming, scene.end)]
    always = {scene.started, scene.end, *_hooked(trace)}
    before = -1
    for step in sorted(step for step in {*own, *others, scene.begin, scene.end} if first <= step <= scene.end):
        entry = known.last_entry(number, step)
        if entry != before or step in always:
            before = entry
            yield step


def _hooked(trace: Trace) -> set[int]:
    """Return the steps at which a hook is added or removed, which may affect any Node, and the steps after them."""
    return _with_ends(trace, trace.steps_of(ev.HookRegistered, ev.HookRemoved))


def _with_ends(trace: Trace, steps: Iterable[int]) -> set[int]:
    """Return some steps, and the steps after their ends."""
    return {about for step in steps for about in (step, trace.ends[step] + 1)}


# -- layouts -----------------------------------------------------------------------------------------------------------


def _layouts(trace: Trace, scene: Scene, graph: BackwardGraph, lines: Lines) -> Iterator[dict[str, object]]:
    """Yield the pictures of a graph: the first one to show, then those with more or fewer boxes unfolded."""
    for wanted in _wanted(graph):
        yield from _layout(trace, scene, graph, wanted, lines)


PLAIN = Options(of_many_steps=True)
"""The options of a picture without frames."""


class _Wanted(Struct, frozen=True):
    """A picture of a graph."""

    name: str
    """The name of the parts that are folded."""
    folded: bool = False
    expand: tuple[str, ...] = ()
    options: Options = PLAIN
    parents: Mapping[str, str] = field(default_factory=dict)
    """A mapping from each module to the one that contains it, or to an empty text. It is only filled if modules are
    boxes and none is unfolded.
    """

    def fold(self, graph: BackwardGraph) -> Fold:
        """Return the graph's Nodes by box."""
        return fold_graph(graph, MOST, self.expand, self.options.cluster, self.options.boxed)


def _wanted(graph: BackwardGraph) -> Iterator[_Wanted]:
    """Yield the pictures of a graph. For a big graph the folded one is first. Then follow pictures with frames around
    modules, if there are modules, and the folded picture with one box unfolded.
    """
    boxes = list(_boxes(graph, fold_graph(graph, MOST, ())))
    is_whole = len(graph) <= MOST_WHOLE
    folds = len(boxes) <= LEAST_FOLDED * len(graph) or not is_whole
    found = [*([_Wanted("")] if is_whole else []), *([_Wanted("folded", True)] if folds else [])]
    yield from found[::-1] if len(graph) > FOLDED_ABOVE else found
    if any(groups(graph, "module").values()):
        yield from (replace(each, name=f"{each.name} modules".strip(), options=MODULES) for each in found)
        yield from (boxed for each in found for boxed in _boxed(graph, each))
    opened = [(f"n{nodes[0]}", _selectors(graph, nodes)) for nodes in boxes if len(nodes) > 1] if folds else []
    yield from (_Wanted(name, True, expand) for name, expand in opened[:MOST_OPENED])


MODULES = Options(cluster="module", of_many_steps=True)


def _boxed(graph: BackwardGraph, base: _Wanted) -> Iterator[_Wanted]:
    """Yield the picture with each module as one box, and then those with one module unfolded, together with the modules
    around it.

    A folded graph in which nothing repeats has no such pictures, because the whole graph has the same boxes.
    """
    if base.folded and len(graph) <= MOST_WHOLE and not any(repeats(_with_boxes(base, ()).fold(graph).items)):
        return
    parents, ways = dict[str, str](), [tuple[str, ...]()]
    for way in ways:
        for module in _modules(_with_boxes(base, way).fold(graph)):
            if module not in parents:
                parents[module] = way[-1] if way else ""
                ways += [(*way, module)] if len(ways) <= MOST_OPENED else []
    if parents:
        first, *others = (_with_boxes(base, way) for way in ways)
        yield from (replace(first, parents=parents), *others)


def _with_boxes(base: _Wanted, opened: tuple[str, ...]) -> _Wanted:
    name = " ".join(filter(None, [base.name, "boxes", *opened[-1:]]))
    return _Wanted(name, True, options=replace(MODULES, boxed=Boxed(opened, base.folded)))


def _modules(fold: Fold) -> Iterator[str]:
    """Yield the modules that are drawn as one box."""
    return (section.module for section in sections(fold.items) if section.module)


def _selectors(graph: BackwardGraph, nodes: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(selector(graph[node]) for node in nodes))[:MOST]


def _layout(
    trace: Trace, scene: Scene, graph: BackwardGraph, wanted: _Wanted, lines: Lines
) -> Iterator[dict[str, object]]:
    """Yield a picture, with the contents of its boxes if it is folded; yield nothing if it cannot be drawn."""
    try:
        drawn = picture(graph, ".svg", wanted.folded, wanted.expand, wanted.options)
    except RenderError:
        return
    layout: dict[str, object] = {"name": wanted.name, "svg": _compact(drawn.data.decode()), "note": drawn.note}
    if wanted.folded:
        layout["boxes"] = _folded_boxes(trace, scene, graph, wanted.fold(graph), lines)
    if wanted.parents:
        layout["parents"] = wanted.parents
    yield layout


_UNSEEN = re.compile(r'<\?xml[^>]*>\s*|<!DOCTYPE[^>]*>\s*|<!--.*?-->\s*| xml:space="preserve"', re.DOTALL)


def _compact(svg: str) -> str:
    """Return a picture without the parts that a page does not need."""
    return _UNSEEN.sub("", svg)


def _folded_boxes(
    trace: Trace, scene: Scene, graph: BackwardGraph, fold: Fold, lines: Lines
) -> dict[str, dict[str, object]]:
    """Return the Nodes of each box, and its texts before the backward and as drawn."""
    before = _box_texts(scene.graph_at(trace, scene.started), fold, graph)
    after = _box_texts(graph, fold, graph)
    order = fold_order(graph)
    modules = {order[section.start]: section.module for section in sections(fold.items) if section.module}
    return {
        f"n{nodes[0]}": {
            "nodes": nodes,
            **({"module": modules[nodes[0]]} if nodes[0] in modules else {}),
            "before": [lines.text(text) for text in before.get(nodes[0], after[nodes[0]])],
            "after": [lines.text(text) for text in after[nodes[0]]],
        }
        for nodes in _boxes(graph, fold)
        if nodes[0] in after
    }


def _box_texts(graph: BackwardGraph, fold: Fold, whole: BackwardGraph) -> dict[int, list[str]]:
    """Return the texts of the boxes by their first Node; empty while the graph is not yet the one that is folded."""
    if fold_order(graph) != fold_order(whole):
        return {}
    return {box.node.number: _texts(box) for box in folded_picture(graph, fold).boxes if box.node is not None}


def _texts(box: Box) -> list[str]:
    return [as_drawn(box.title), box.state and as_drawn(box.state), *map(as_drawn, box.lines)]


def _boxes(graph: BackwardGraph, fold: Fold) -> Iterator[list[int]]:
    """Yield the Nodes of each box of a folded graph."""
    order = fold_order(graph)
    for positions in _positions(fold.items, ()):
        yield [order[at] for at in positions]


def _positions(items: Iterable[Item], path: tuple[Repeat, ...]) -> Iterator[list[int]]:
    for item in items:
        if isinstance(item, Repeat):
            yield from _positions(item.body, (*path, item))
        else:
            inside = range(start(item), item + 1 if isinstance(item, int) else item.stop)
            yield [position for at in inside for position in everywhere(at, path)]
