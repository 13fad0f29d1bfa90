"""The Node of a step with every member of PyTorch's class, its current value and its purpose."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.node.node_card import Fact, node_card
from dispatchviz.explain.graph.node.node_of_step import node_of_step
from dispatchviz.explain.locations.pytorch_locations import NODE
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.styled_line import Line, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the Node's card, or the step at which there is one."""
    node = node_of_step(trace, at)
    if node is None:
        return [not_yet(trace, at, ev.NodeCreated, "No Node at this step")]
    title = node_title(trace, node, at)
    head = line((title, "bold"), (f"  {NODE}", "dim"), key="node", value=title, about=NodeThing(node))
    return [head, *_sections(trace, node, at)]


def _sections(trace: Trace, node: int, at: int) -> Iterator[Line]:
    for section in node_card(trace, node, at):
        yield line((section.title, "title"))
        yield from map(_row, section.facts)


def _row(fact: Fact) -> Line:
    value = ((f"  {fact.value}", ""),) if fact.value else ()
    purpose = ((f"  {fact.purpose}", "dim"),) if fact.purpose else ()
    return line(
        "  ",
        (fact.name, "name"),
        *value,
        *purpose,
        key=f"member {fact.name}",
        value=fact.value,
        goto=fact.goto,
        about=fact.about,
        indent=4,
    )
