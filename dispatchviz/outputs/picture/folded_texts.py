"""The texts in the boxes and frames of a folded graph: the facts that many Nodes share, and the ranges of the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice, takewhile
from textwrap import wrap

from dispatchviz.core.record.trace_file.columns import Place
from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.folded_modules import OTHERS, in_all_iterations
from dispatchviz.explain.graph.folding import fold_order
from dispatchviz.explain.graph.graph_fold import Fold, Link, Repeat, Section, everywhere
from dispatchviz.explain.graph.graph_node import NO_NUMBER, GraphNode, State
from dispatchviz.explain.graph.node_details import described, state_text
from dispatchviz.explain.graph.node_groups import UserPlaces, common_path, leaf_name, module_of, shared_path
from dispatchviz.explain.graph.node_outline import GraphChanges, NodeOutline
from dispatchviz.foundation.english import shaped, shortened
from dispatchviz.outputs.picture.dot import LONGEST, edge_text, extras, gradients

MOST_LINES = 14
"""The largest number of lines in a box."""

WIDE = 84
"""The length at which lines in boxes of many Nodes are cut."""

NBSP = "\N{NO-BREAK SPACE}"

MOST_ITERATIONS = 4096
"""The number of iterations whose leaves are read for names."""

MADE = "└ "
"""The beginning of a line with the Nodes that the line above made."""

URGENT = (State.FAILED, State.RUNNING, State.QUEUED, State.WAITING, State.CAPTURED, State.CREATED)
"""The states in the order in which they determine the colors of a box of many Nodes."""


class Texts:
    """The texts of one folded graph."""

    def __init__(self, graph: BackwardGraph, fold: Fold) -> None:
        self._graph, self._fold, self._order = graph, fold, fold_order(graph)
        self._places = UserPlaces(graph.trace)
        self._leaf_names: dict[int, str] = {}

    def node(self, at: int) -> GraphNode:
        """Return the Node at a position."""
        return self._graph[self._order[at]]

    def is_pruned(self, at: int) -> bool:
        """Return whether no gradient goes there in this backward."""
        return self._graph.outline(self._order[at]).state is State.PRUNED

    def outlines(self, positions: Iterable[int]) -> Iterator[NodeOutline]:
        """Return the Nodes at some positions, without their tensors."""
        return (self._graph.outline(self._order[at]) for at in positions)

    # -- of Nodes -----------------------------------------------------------------------------------------------------

    def title(self, positions: Sequence[int]) -> str:
        """Return the title of a box: ``AddBackward0``, ``AccumulateGrad (a … f)``."""
        node, last = self.node(positions[0]), self.node(positions[-1])
        if node.leaf is None or last.leaf is None:
            return node.name
        return shortened(f"{node.name} ({varying(node.leaf.name, last.leaf.name)})", LONGEST)

    def state(self, positions: Sequence[int]) -> tuple[str, State]:
        """Return the engine's progress with some Nodes, in words, and the state that determines their colors."""
        found = Counter(node.state for node in self.outlines(positions))
        looks = next((state for state in URGENT if state in found), max(found, key=lambda state: found[state]))
        if len(positions) == 1:
            return state_text(self._graph, self.node(positions[0])), looks
        if set(found) == {State.CREATED} and self._graph.graph_task is None:
            return "", looks
        if {State.DONE, State.RELEASED} >= set(found):
            return "done, freed" if set(found) == {State.RELEASED} else "done", looks
        texts = [f"{count:,} {state.value}" if len(found) > 1 else state.value for state, count in found.items()]
        return ", ".join(texts), looks

    def change(self, positions: Iterable[int], changes: GraphChanges) -> str:
        """Return the changes in the Nodes of a box: ``new``, ``3 new, 2 was waiting``."""
        nodes = [*self.outlines(positions)]
        found = Counter(changes.text(node.number, node.state) for node in nodes)
        del found[""]
        return ", ".join(text if count == len(nodes) else f"{count:,} {text}" for text, count in found.items())

    def facts(self, positions: Sequence[int]) -> Iterator[str]:
        """Yield the lines of a box: the facts of the first Node, and those of the last one where they differ."""
        node, last = self.node(positions[0]), self.node(positions[-1])
        other = f" (last iteration {last.number_text})" if last.number_text != node.number_text else ""
        yield f"sequence_nr {node.number_text}{other}" + (
            f", from line {varying(node.line, last.line)}" if node.line else ""
        )
        several: list[Callable[[GraphNode], Iterable[str]]] = [_shapes, _attributes, _saved]
        for texts_of in several:
            for one, other in zip(texts_of(node), texts_of(last), strict=False):
                yield shortened(varying(one, other), LONGEST)
        yield from extras(self._graph, node)

    def port(self, node: GraphNode, number: int, is_many: bool) -> str:
        """Return the argument of an edge in the forward."""
        edge = node.edges[number]
        text = edge.argument or str(number) if is_many else edge_text(edge, number)
        return shortened(text, LONGEST // 2)

    def input_text(self, link: Link) -> str:
        """Return the input that an edge leads to, if there are several."""
        if link is None:
            return ""
        several = len(self.node(link[0]).inputs) > 1
        return f"input_nr {link[1]}" if link[1] or several else ""

    # -- of sections and repeats --------------------------------------------------------------------------------------

    def frame(self, repeat: Repeat, path: Sequence[Repeat]) -> tuple[str, ...]:
        """Return the title of a frame."""
        nodes = list(self.outlines(range(repeat.start, repeat.stop)))
        size = nodes[0].name if repeat.period == 1 else f"{repeat.period:,} Nodes"
        inner = "" if path else f": {self._numbered(nodes)}"
        named = self._named_iterations(repeat, path)
        title = [f"{named}, × {repeat.iterations:,}"] if named else []
        return (*title, f"{repeat.iterations:,} times {size}{inner}", *self._progress(repeat, path))

    def _named_iterations(self, repeat: Repeat, path: Sequence[Repeat]) -> str:
        """Return the shared paths of the leaves in each iteration, and the function that made it: ``layers.11 …
        layers.0 (Block.forward)``.

        The result is empty if the iterations have no leaves with paths of their own. Within other repeats it is the
        part that all their iterations share: ``layers.*.value … layers.*.query``.
        """
        starts = [repeat.start + iteration * repeat.period for iteration in range(repeat.iterations)]
        paths = (shared_path(self._modules(range(at, at + repeat.period))) for at in starts)
        if len(set(takewhile(bool, paths))) < len(starts):
            return ""
        functions = {self._function(range(at, at + repeat.period)) for at in starts}
        by = functions.pop() if len(functions) == 1 else ""
        first, last = (self._path_in_all_iterations(at, repeat, path) for at in (starts[0], starts[-1]))
        return f"{first} … {last}" + (f" ({by})" if by else "")

    def _path_in_all_iterations(self, at: int, repeat: Repeat, path: Sequence[Repeat]) -> str:
        """Return the shared beginning of the paths of one iteration's leaves, in all iterations of the repeats around
        it.
        """
        iterations = islice(everywhere(at, path), MOST_ITERATIONS)
        return in_all_iterations(
            [*dict.fromkeys(shared_path(self._modules(range(p, p + repeat.period))) for p in iterations)]
        )

    def _modules(self, positions: Iterable[int]) -> list[str]:
        """Return the modules whose parameters the Nodes at some positions accumulate."""
        return [module for name in map(self._leaf_name, positions) if (module := module_of(name))]

    def _leaf_name(self, at: int) -> str:
        """Return the name of the leaf of a position. It is kept, because frames and boxes name the same leaves."""
        if at not in self._leaf_names:
            self._leaf_names[at] = leaf_name(self._graph, self._order[at])
        return self._leaf_names[at]

    def _function(self, positions: Iterable[int]) -> str:
        """Return the innermost function of the program that made all Nodes at some positions in one call."""
        calls = common_path([self._places.calls(self._order[at]) for at in positions])
        return calls[-1].title if calls else ""

    def _outline(self, at: int) -> NodeOutline:
        return self._graph.outline(self._order[at])

    def section(self, section: Section, path: Sequence[Repeat]) -> Iterable[str]:
        """Return the lines of a box of many Nodes."""
        if section.function:
            return self._by_line(section, path)
        if section.module:
            return [self._crossing(section, path), *self.kinds(section)]
        return self.tree(section, path) if section.is_tree else self.kinds(section)

    def _by_line(self, section: Section, path: Sequence[Repeat]) -> Iterator[str]:
        """Yield each line of the program that made several of the Nodes in a row, and the Nodes below it."""
        runs = [(line, [*run]) for line, run in groupby(range(section.start, section.stop), self._line)]
        for line, run in runs[: MOST_LINES // 2]:
            yield shortened(self._places.text(line) if line else "elsewhere", WIDE)
            kinds = Counter(self._named(at, path) for at in sorted(run, key=lambda at: not self._outline(at).has_leaf))
            texts = [f"{count}{NBSP}×{NBSP}{kind}" if count > 1 else kind for kind, count in kinds.items()]
            yield from wrap(f"{MADE}{', '.join(texts)}", WIDE, break_on_hyphens=False)
        if len(runs) > MOST_LINES // 2:
            yield f"and {len(runs) - MOST_LINES // 2} more ranges of lines"

    def _line(self, at: int) -> Place | None:
        return self._places.line(self._order[at])

    def _progress(self, repeat: Repeat, path: Sequence[Repeat]) -> Iterator[str]:
        """Yield the number of finished iterations, while a backward runs."""
        if path or self._graph.graph_task is None:
            return
        firsts = self.outlines(range(repeat.start, repeat.stop, repeat.period))
        if len(found := Counter(node.state for node in firsts)) > 1:
            yield "its first Node: " + ", ".join(f"{count:,} {state.value}" for state, count in found.items())

    def range_title(self, positions: Sequence[int]) -> str:
        """Return the title of a range: ``16 Nodes: sequence_nr 589 … 580``."""
        return f"{len(positions):,} Nodes: {self._numbered(self.outlines(positions))}"

    def _numbered(self, nodes: Iterable[NodeOutline]) -> str:
        return f"sequence_nr {numbers(nodes)}"

    def kinds(self, section: Section) -> Iterator[str]:
        """Yield the number of Nodes of each kind."""
        inside = range(section.start, section.stop)
        found = Counter(node.name for node in self.outlines(inside)).most_common()
        yield from (f"{count:,} × {kind}" for kind, count in found[:MOST_LINES])
        if len(found) > MOST_LINES:
            yield f"and {len(found) - MOST_LINES} more kinds"

    def _crossing(self, section: Section, path: Sequence[Repeat]) -> str:
        """Return the number of edges across the border: ``edges: 1 in, 2 out``. If the last iterations differ from the
        first ones, both are given.
        """
        places = [[*everywhere(at, path)] for at in range(section.start, section.stop)]
        first, last = (self._edges({iterations[which] for iterations in places}) for which in (0, -1))
        coming, leaving = (varying(one, other) for one, other in zip(first, last, strict=True))
        return f"edges: {coming} in, {leaving} out"

    def _edges(self, inside: Collection[int]) -> tuple[int, int]:
        """Return the number of edges that lead into some positions, and the number that lead out."""
        leaving = sum(head not in inside for at in inside for head in self._heads[at])
        within = sum(len(self._heads[at]) for at in inside) - leaving
        return sum(self._uses[at] for at in inside) - within, leaving

    @cached_property
    def _heads(self) -> list[list[int]]:
        """The targets of the edges of each position."""
        places = {number: at for at, number in enumerate(self._order)}
        edges = (self._graph.outline(number).edges for number in self._order)
        return [[places[edge[0]] for edge in each if edge and edge[0] in places] for each in edges]

    @cached_property
    def _uses(self) -> Counter[int]:
        """The number of edges that lead to each position."""
        return Counter(head for heads in self._heads for head in heads)

    def tree(self, section: Section, path: Sequence[Repeat]) -> Iterator[str]:
        """Yield the Nodes in a row, each leading to the next line. Brackets show the targets of the other edges."""
        lines = [
            f"{count} × {text}" if (count := len(list(same))) > 1 else text
            for text, same in groupby(self._spine(section, path))
        ]
        if len(lines) <= MOST_LINES:
            yield from lines
        else:
            yield from lines[: MOST_LINES - 3]
            yield f"… {len(lines) - MOST_LINES + 1} more lines …"
            yield from lines[-2:]

    def _spine(self, section: Section, path: Sequence[Repeat]) -> Iterator[str]:
        sizes = self._sizes(section)
        at: int | None = section.start
        while at is not None:
            links = self._fold.edges[at]
            way = max(range(len(links)), key=lambda number: sizes(links[number]), default=None)
            down = None if way is None else links[way]
            texts = [DOWN if n == way and link else self._branch(link, section, path) for n, link in enumerate(links)]
            yield shortened(self._named(at, path) + (f" ({', '.join(texts)})" if len(texts) > 1 else ""), WIDE)
            at = down[0] if down and down[0] < section.stop else None

    def _sizes(self, section: Section) -> Callable[[Link], tuple[int, int]]:
        """Return a key that orders edges: first the edge that leads out, then the one with the most Nodes behind it."""
        below = dict.fromkeys(range(section.start, section.stop), 1)
        leaves = set[int]()
        for at in reversed(range(section.start, section.stop)):
            for link in self._fold.edges[at]:
                if link is None:
                    continue
                if link[0] >= section.stop or link[0] in leaves:
                    leaves.add(at)
                else:
                    below[at] += below[link[0]]

        def size(link: Link) -> tuple[int, int]:
            if link is None:
                return 0, 0
            return (2, 0) if link[0] >= section.stop or link[0] in leaves else (1, below[link[0]])

        return size

    def _branch(self, link: Link, section: Section, path: Sequence[Repeat]) -> str:
        """Return the Nodes along an edge: ``TBackward0 (x)``."""
        if link is None:
            return "none"
        rest = [self._branch(found, section, path) for found in self._fold.edges[link[0]]]
        to = f" to input_nr {link[1]}" if link[1] else ""
        return self._named(link[0], path) + to + (f" ({', '.join(rest)})" if rest else "")

    def _named(self, at: int, path: Sequence[Repeat]) -> str:
        """Return ``AddBackward0``, or ``leaf x`` for an AccumulateGrad."""
        node = self.node(at)
        if node.leaf is None:
            return node.name
        return f"leaf {self._shared_name(islice(everywhere(at, path), MOST_ITERATIONS))}"

    def _shared_name(self, positions: Iterable[int]) -> str:
        """Return one name for the leaves at some positions. If two have nothing in common, the others are not named,
        because that reads them from the file.
        """
        names = dict[str, None]()
        for name in map(self._leaf_name, positions):
            if name not in names:
                names[name] = None
                if len(names) == 2 and in_all_iterations([*names]).endswith(OTHERS):
                    break
        return in_all_iterations([*names])


DOWN = "↓"
"""The sign for the edge that leads to the next line, or out of the box after the last one."""


def numbers(nodes: Iterable[NodeOutline]) -> str:
    """Return the range of sequence numbers, from the largest to the smallest: ``589 … 580``. It is ``max`` if all Nodes
    are leaves.
    """
    found = [node.sequence_nr for node in nodes if node.sequence_nr != NO_NUMBER]
    if not found:
        return "max"
    low, high = min(found), max(found)
    return str(low) if low == high else f"{high} … {low}"


def varying(one: object, other: object) -> str:
    """Return the text if both are the same, otherwise both."""
    return str(one) if one == other else f"{one} … {other}"


def _shapes(node: GraphNode) -> Iterable[str]:
    return [described(node.leaf)] if node.leaf else gradients(node)


def _attributes(node: GraphNode) -> Iterable[str]:
    return (f"{name}={value}" for name, value in node.attributes)


def _saved(node: GraphNode) -> Iterator[str]:
    """Yield the saved tensors without their names, which differ in each iteration."""
    kept = "freed" if node.released else "saved"
    for saved in node.variables:
        shape = shaped(saved.tensor.shape) if saved.tensor and saved.tensor.shape is not None else "undefined"
        yield f"{kept} {saved.name} {shape}"
