"""The record of a program as text, for readers and for comparison line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def readable(name: str, found: dict[str, Any]) -> Iterator[str]:
    """The lines of one record."""
    lines = found["source"].split("\n")
    yield f"========== {name} =========="
    yield from (f"{number:3}| {line}" for number, line in enumerate(lines[:-1], 1) if number > 2)
    yield "  dispatch log: [how] operator key | key set | included excluded (Node)"
    yield from _log(found["log"], lines)
    yield from (f"  after line {line}: " + "; ".join(_states(changed)) for line, changed in found["facts"] if changed)
    for graph in found["graphs"]:
        yield from _graph(graph)
    if found["grads"]:
        yield "  grads: " + ", ".join(f"{n}={g['data']} stride {g['stride']}" for n, g in found["grads"].items())
    yield f"  sequence numbers taken: {found['sequence_numbers']}"
    yield from _end(found)
    yield ""


def _log(log: list[Any], lines: list[str]) -> Iterator[str]:
    at = None
    for step in log:
        if step[1] != at:
            at = step[1]
            yield f"  line {at}: {lines[at - 1].strip()}"
        yield "    " + step_text(step)


def step_text(step: list[Any]) -> str:
    """The text of one dispatch step."""
    depth, _, operator, key, keys, included, excluded, how, node = step
    where = f"   ({node})" if node else ""
    return f"{'  ' * depth}[{how}] {operator} {key} | {keys:#x} | {included:#x} {excluded:#x}{where}"


def _states(changed: dict[str, Any]) -> Iterator[str]:
    for name, state in changed.items():
        if isinstance(state, dict):
            yield f"{name}: {state['error']}"
        else:
            requires_grad, is_leaf, version, node, output_nr = state
            facts = ["requires_grad"] * requires_grad + ["leaf"] * is_leaf + [f"version {version}"]
            yield f"{name}: {' '.join(facts)}" + (f" {node}:{output_nr}" if node else "")


def _graph(graph: dict[str, Any]) -> Iterator[str]:
    yield f"  backward graph, roots {graph['roots']}, order {graph['order']}"
    yield from (f"    {i}: {node_text(node)}" for i, node in enumerate(graph["nodes"]))


def node_text(node: dict[str, Any]) -> str:
    """The text of one Node of a graph."""
    number = "max" if node["sequence_nr"] is None else node["sequence_nr"]
    of = f" ({node['variable']})" if node["variable"] else ""
    kept = ", ".join(f"{name}={_value(value)}" for name, value in node["saved"].items())
    return (
        f"{node['name']}{of} seq {number} topo {node['topological_nr']} edges {node['edges']}"
        f" inputs {node['inputs']}" + (f" saved {kept}" if kept else "")
    )


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return f"{value['dtype']}{value['shape']}" if "dtype" in value else value["error"]
    return value


def _end(found: dict[str, Any]) -> Iterator[str]:
    yield from (f"  warning: {text}" for text in found["warnings"])
    if found["output"]:
        yield f"  printed: {found['output']!r}"
    if found["error"]:
        yield "  error: {0} at line {2}: {1}".format(*found["error"])


# -- comparison by lines ----------------------------------------------------------------------------------------------


def log_texts(log: list[list[Any]]) -> list[str]:
    """A dispatch log as lines."""
    return [step_text(step) for step in log]


def graph_texts(graphs: list[dict[str, Any]]) -> list[str]:
    """Graphs as lines, with saved tensors by shape and dtype; ``compare.close`` compares their numbers."""
    lines = []
    for graph in graphs:
        lines.append(f"roots {graph['roots']} order {graph['order']}")
        lines += [f"{i}: {node_text(node)}" for i, node in enumerate(graph["nodes"])]
    return lines


def fact_texts(facts: list[list[Any]]) -> list[str]:
    """Autograd states as lines."""
    return [f"after line {line}: {name} {state}" for line, changed in facts for name, state in changed.items()]
