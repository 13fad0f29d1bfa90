"""The places in the program that the Nodes of a graph come from, as frames around them: module, function or line.

All of it is read from the columns; no event is decoded. The paths of its parameters identify a module. A call that uses
some of them belongs to their module. A call that uses none belongs to the function call around it, and the common part
of the paths of its parameters identifies that call.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE, Place
from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_lines

Cluster = Literal["module", "function", "line", "none"]
"""The kinds of frames in a picture."""

DEEPEST = 64
"""The greatest depth of nested function calls."""


class Group(Struct, frozen=True):
    """The place that Nodes come from."""

    key: tuple[str, int, int]
    """The identity of the call of a function, as far as it is known: the function, its caller, the step where the call
    begins.
    """
    title: str


Path = tuple[Group, ...]
"""Nested groups, outermost first."""


class UserPlaces:
    """The lines and function calls of the user's program at the steps of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._columns = trace, trace.columns
        self._steps = trace.steps_of(ev.SourceLine)
        self._module = self._columns.code(ev.ModuleCalled)
        self._first = history(trace).events.first
        self._stacks: dict[int, Path] = {}

    def line(self, node: int) -> Place | None:
        """Return the line that made a Node."""
        place = self._place(self._step(node))
        return None if place is None else self._columns.line_places[self._columns.places[place]]

    def calls(self, node: int) -> Path:
        """Return the calls of the user's functions in which a Node was made."""
        place = self._place(self._step(node))
        if place is None:
            return ()
        if place not in self._stacks:
            self._stacks[place] = self._stack(place)
        return self._stacks[place]

    def call_of(self, node: int) -> int:
        """Return the step of the outermost call that made a Node, or of its creation: the same step for all Nodes of a
        call.

        The call of a module does not count.
        """
        step, parents, kinds = self._step(node), self._columns.parents, self._columns.kinds
        lines = self._columns.lines[step] if step < len(parents) else NONE
        while step < len(parents) and parents[step] not in (NONE, lines) and parents[step] < step:
            if kinds[parents[step]] == self._module:
                break
            step = parents[step]
        return step

    def _step(self, node: int) -> int:
        return self._first(node)

    def _place(self, step: int) -> int | None:
        """Return the position of the SourceLine that a step is on."""
        line = self._columns.lines[step] if step < len(self._columns.lines) else NONE
        place = bisect_right(self._steps, line) - 1
        return place if line != NONE and 0 <= place < len(self._columns.places) else None

    def _stack(self, place: int | None) -> Path:
        found: list[Group] = []
        while place is not None and len(found) < DEEPEST:
            own = self._columns.line_places[self._columns.places[place]]
            caller = self._columns.callers[place]
            if own.function:
                found.append(Group((own.function, caller, self._begins[place]), own.function))
            before = bisect_right(self._steps, caller) - 1
            place = before if 0 <= before < place and self._steps[before] == caller else None
        return tuple(found[::-1])

    @cached_property
    def _begins(self) -> Sequence[int]:
        """The SourceLine that begins the function call of each SourceLine; ``NONE`` if it is not known.

        A function that is called from a line runs again only when it has returned, so the last line that begins a call
        is the right one. Code that no line called may run on several threads at once, so it is not known there.
        """
        columns, found, last = self._columns, array("q"), dict[tuple[str, str, int], int]()
        for step, number, caller in zip(self._steps, columns.places, columns.callers, strict=False):
            place = columns.line_places[number]
            call = place.file, place.function, caller
            if place.begins and caller != NONE:
                last[call] = step
            found.append(last.get(call, NONE))
        return found

    def text(self, place: Place) -> str:
        """Return the text of a place: ``line 6: z = torch.add(x, y)``."""
        lines = source_lines(self._trace, place.file)
        code = lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""
        return f"line {place.line}: {code}" if code else f"line {place.line}"


def groups(graph: BackwardGraph, cluster: Cluster) -> dict[int, Path]:
    """Return the frames around each Node of a graph. A leaf is in the frames that all its users share."""
    if cluster == "none":
        return {}
    own = [node.number for node in graph.outlines() if not node.has_leaf]
    paths = _ways[cluster](graph, own)
    leaves = [node.number for node in graph.outlines() if node.has_leaf]
    users = _users(graph, own)
    return {**paths, **{leaf: common_path([paths[user] for user in users[leaf]]) for leaf in leaves}}


def _users(graph: BackwardGraph, nodes: Iterable[int]) -> Mapping[int, list[int]]:
    users: dict[int, list[int]] = defaultdict(list)
    for number in nodes:
        for edge in graph.outline(number).edges:
            if edge:
                users[edge[0]].append(number)
    return users


def common_path(paths: list[Path]) -> Path:
    """Return the common beginning of some paths."""
    if not paths:
        return ()
    low, high = min(paths, key=len), paths
    length = next((at for at, group in enumerate(low) if any(path[at] != group for path in high)), len(low))
    return low[:length]


def _by_line(graph: BackwardGraph, nodes: list[int]) -> dict[int, Path]:
    places = UserPlaces(graph.trace)

    def path(node: int) -> Path:
        place = places.line(node)
        return () if place is None else (Group((place.file, place.line, NONE), places.text(place)),)

    return {node: path(node) for node in nodes}


def _by_function(graph: BackwardGraph, nodes: list[int]) -> dict[int, Path]:
    places = UserPlaces(graph.trace)
    return {node: places.calls(node) for node in nodes}


def _by_module(graph: BackwardGraph, nodes: list[int]) -> dict[int, Path]:
    places = UserPlaces(graph.trace)
    calls = {node: places.call_of(node) for node in nodes}
    modules: dict[int, set[str]] = defaultdict(set)
    for node in nodes:
        modules[calls[node]].update(used_modules(graph, node))
    around: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    for node in nodes:
        for function in places.calls(node):
            around[function.key] |= modules[calls[node]]
    named = {key: shared_path(found) for key, found in around.items() if len(found) > 1}

    def path(node: int) -> Path:
        functions = [named.get(function.key, "") for function in places.calls(node)]
        own = modules[calls[node]]
        found = [*functions, next(iter(own)) if len(own) == 1 else ""]
        return tuple(Group((one, NONE, NONE), one) for one in dict.fromkeys(filter(None, found)))

    return {node: path(node) for node in nodes}


def used_modules(graph: BackwardGraph, node: int) -> Iterable[str]:
    """Return the modules whose parameters the edges of a Node lead to: ``layers.11.down`` for
    ``layers.11.down.bias``.
    """
    for edge in graph.outline(node).edges:
        if edge and edge[0] in graph.nodes and (module := module_of(leaf_name(graph, edge[0]))):
            yield module


def leaf_name(graph: BackwardGraph, node: int) -> str:
    """Return the name of the leaf that a Node accumulates into, without building the Node; empty for other Nodes."""
    step = history(graph.trace).events.leaf_nodes.get(node)
    return "" if step is None else tensor_name(graph.trace, graph.trace.columns.tensors[step], graph.at)


def module_of(name: str) -> str:
    """Return the module path in a parameter's path; empty for other names."""
    module, dot, parameter = name.rpartition(".")
    return module if dot and parameter.isidentifier() and "(" not in name and "@" not in name else ""


def shared_path(paths: Iterable[str]) -> str:
    """Return the common beginning of paths: ``layers.11`` for ``layers.11.up`` and ``layers.11.norm1``; empty if there
    is none.
    """
    split = [path.split(".") for path in paths]
    if not split:
        return ""
    length = next((at for at, parts in enumerate(zip(*split, strict=False)) if len(set(parts)) > 1), None)
    shortest = min(split, key=len)
    return ".".join(shortest if length is None else shortest[:length])


_ways: dict[str, Callable[[BackwardGraph, list[int]], dict[int, Path]]] = {
    "line": _by_line,
    "function": _by_function,
    "module": _by_module,
}
