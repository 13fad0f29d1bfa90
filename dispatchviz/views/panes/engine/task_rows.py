"""The members of the graph task, and ``exec_info_``: the Nodes that run, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine.exec_info import ExecInfo, ExecInfoTable, Verdict, exec_info_at
from dispatchviz.explain.graph.engine.graph_task import GRAPH_TASK, TaskMember, graph_task_card
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.views.panes.engine.section import FEW, MANY, Section, more
from dispatchviz.views.text.styled_line import Line, line

GROUPS: dict[Verdict, tuple[str, str]] = {
    "requested": ("requested: needed_ is set", "name"),
    "captured": ("captured: the caller requested their gradients", "name"),
    "topological_nr": ("not run: below min_topo_nr", "removed"),
    "should_execute": ("not run: no path leads to a requested Node", "removed"),
    "leads on": ("needed_: an edge leads to a Node that should execute", "name"),
}
"""The outcome for a Node, and the role of its name."""


def graph_task_section(trace: Trace, at: int, is_open: bool) -> Section:
    """The section on the members of PyTorch's ``GraphTask``."""
    members = graph_task_card(trace, at)
    known = {member.name: member for member in members}
    said = f"outstanding_tasks_ {known['outstanding_tasks_'].value}, keep_graph_ {known['keep_graph_'].value}"
    return Section("Graph task", ((said, ""),), lambda: _members(members), is_open, known["keep_graph_"].goto)


def _members(members: list[TaskMember]) -> Iterator[Line]:
    yield line((f"  {GRAPH_TASK}", "dim"))
    yield from (_member(member) for member in members if member.value)
    yield line(("  not recorded by any event:", "dim"))
    yield from (_member(member) for member in members if not member.value)


def _member(member: TaskMember) -> Line:
    value = ((f"  {member.value}", ""),) if member.value else ()
    return line("  ", (member.name, "name"), *value, (f"  {member.purpose}", "dim"), goto=member.goto, indent=4)


def exec_info_section(trace: Trace, at: int, is_open: bool) -> Section | None:
    """The section on ``exec_info_``; None if every reachable Node runs."""
    table = exec_info_at(trace, at)
    if table is None:
        return None
    away = len(table.nodes["topological_nr"]) + len(table.nodes["should_execute"]) + table.unvisited
    said = f"{_count(table)} run, {len(table.nodes['captured'])} captured, {away} not run"
    return Section("exec_info_", ((said, ""),), lambda: _table(trace, table, at), is_open, table.seq)


def _count(table: ExecInfoTable) -> int:
    return len(table.nodes["requested"]) + len(table.nodes["leads on"])


def _table(trace: Trace, table: ExecInfoTable, at: int) -> Iterator[Line]:
    yield from _minimum(table)
    for verdict, (said, role) in GROUPS.items():
        nodes = table.nodes[verdict]
        if nodes:
            shown = FEW if verdict == "leads on" else MANY
            yield line((f"  {said}", "dim"))
            for entry in table.entries(trace, verdict, shown):
                yield _entry(trace, table, entry, role, at)
            yield from more(len(nodes) - shown)


def _minimum(table: ExecInfoTable) -> Iterator[Line]:
    """Yield the minimum, and the Nodes that one comparison excludes."""
    said = "the smallest requested topological_nr. A Node with a smaller one has no path there"
    yield line(("  min_topo_nr", "name"), f"  {table.min_topo_nr}", (f"  {said}", "dim"), indent=4)
    if table.unvisited:
        reason = "one comparison excludes them, so the engine never visits them"
        behind = f"{table.unvisited:,} more Nodes behind those: {reason}"
        yield line((f"  {behind}", "dim"), indent=4)


def _entry(trace: Trace, table: ExecInfoTable, entry: ExecInfo, role: str, at: int) -> Line:
    number = f"topological_nr {entry.topological_nr}"
    if entry.topological_nr < table.min_topo_nr and not entry.should_execute:
        number += f" < {table.min_topo_nr}"
    where = "" if entry.reached else ", not in this graph"
    return line("    ", (node_title(trace, entry.node, at), role), (f"  {number}{_taken(entry)}{where}", "dim"),
                goto=table.seq, about=NodeThing(entry.node), cut=True)  # fmt: skip


def _taken(entry: ExecInfo) -> str:
    """The results of ``grad`` that the captures become."""
    return "".join(f", input {input_nr} is result {position}" for input_nr, position in entry.captures)
