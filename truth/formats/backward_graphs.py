"""Backward graphs as lines: one Node per line, in the order in which the engine met them.

    graph roots 0.0 order 0 1 2
     0 SumBackward0 seq 1 topo 2 next 1.0 in float32[] saved {"self_sym_sizes":[2,2]}
     1 AddBackward0 seq 0 topo 1 next 2.0,- in float32[2,2] saved {"alpha":1}
     2 torch::autograd::AccumulateGrad of x seq max topo 0 in float32[2,2]

An edge is NODE.INPUT, ``-`` where there is none; ``in`` has the shape and dtype of each gradient that comes in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from truth.formats.values import numbers_text, read_numbers, read_value, value_text

Graph = dict[str, Any]
"""The fields ``roots``, ``nodes`` and ``order`` of a graph; see ``truth/recorders/programs.py``."""

_GRAPH = re.compile(r"graph roots(.*) order(.*)")
_NODE = re.compile(
    r" \d+ (\S+)(?: of (\S+))? seq (max|-?\d+) topo (-?\d+)(?: next (\S+))?(?: in (\S+))?(?: saved (.*))?"
)
_INPUT = re.compile(r"(\w+)\[([\d,]*)\]")


def graph_lines(graph: Graph) -> Iterator[str]:
    """The lines of one graph."""
    roots = "".join(f" {node}.{input_nr}" for node, input_nr in graph["roots"])
    yield f"graph roots{roots} order{''.join(f' {node}' for node in graph['order'])}"
    yield from (f" {number} {_node_text(node)}" for number, node in enumerate(graph["nodes"]))


def _node_text(node: dict[str, Any]) -> str:
    edges = ",".join("-" if edge is None else f"{edge[0]}.{edge[1]}" for edge in node["edges"])
    inputs = ";".join(f"{dtype.removeprefix('torch.')}[{numbers_text(shape)}]" for shape, dtype in node["inputs"])
    return (
        str(node["name"])
        + (f" of {node['variable']}" if node["variable"] else "")
        + f" seq {'max' if node['sequence_nr'] is None else node['sequence_nr']} topo {node['topological_nr']}"
        + (f" next {edges}" if edges else "")
        + (f" in {inputs}" if inputs else "")
        + (f" saved {value_text(node['saved'])}" if node["saved"] else "")
    )


def read_graph(head: str, lines: list[str]) -> Graph:
    """A graph from its first line and those of its Nodes. Raise ValueError if a line has another form."""
    found = _GRAPH.fullmatch(head)
    if found is None:
        raise ValueError(head)
    return {
        "roots": [_edge(edge) for edge in found[1].split()],
        "nodes": [_read_node(line) for line in lines],
        "order": [int(node) for node in found[2].split()],
    }


def _read_node(line: str) -> dict[str, Any]:
    found = _NODE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    name, variable, number, topological, edges, inputs, saved = found.groups()
    return {
        "name": name,
        "sequence_nr": None if number == "max" else int(number),
        "topological_nr": int(topological),
        "edges": [_edge(edge) for edge in edges.split(",")] if edges else [],
        "inputs": [[read_numbers(one[2]), f"torch.{one[1]}"] for one in _INPUT.finditer(inputs or "")],
        "variable": variable,
        "saved": read_value(saved) if saved else {},
    }


def _edge(text: str) -> list[int] | None:
    return None if text == "-" else [int(number) for number in text.split(".")]
