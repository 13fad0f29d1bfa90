"""Collectives of distributed programs (``torch.distributed``)."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Known, Rule
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.foundation.english import listed, numbered

NAMES = {
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce_coalesced", "broadcast_": "broadcast",
    "reduce_": "reduce", "allgather_": "all_gather", "_allgather_base_": "all_gather_into_tensor",
    "allgather_coalesced_": "all_gather_coalesced", "allgather_into_tensor_coalesced_": "all_gather_into_tensor",
    "gather_": "gather", "scatter_": "scatter", "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter_tensor", "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor",
    "alltoall_": "all_to_all", "alltoall_base_": "all_to_all_single", "barrier": "barrier",
    "monitored_barrier_": "monitored_barrier",
}  # fmt: skip
"""The functions of ``torch.distributed`` that call the operators of ``c10d``."""


def collective_name(event: ev.CollectiveCalled) -> str:
    """Return the name of the collective in ``torch.distributed``: ``all_reduce``."""
    plain = event.operator.partition("::")[2]
    return NAMES.get(plain, plain)


def group_text(event: ev.CollectiveCalled) -> str:
    """Return the process group in words: ``the default group``."""
    return "the default group" if event.group == "default" else f"group {event.group}"


def amount(event: ev.CollectiveCalled) -> str:
    """Return how much a process hands over: ``49 elements of float32``. The tensor of a barrier only names a device."""
    if not event.dtype or event.operator == "c10d::barrier":
        return "no tensor"
    return f"{numbered(event.elements, 'element')} of {event.dtype}"


def after_node(trace: Trace, event: ev.CollectiveCalled) -> str:
    """Return the Node during which the engine made the call: ``AccumulateGrad (net.0.weight)``; empty outside of
    backward.
    """
    node = around(trace, event.seq, ev.NodeStarted)
    return "" if node is None else node_name(trace, node.node, event.seq)


def _label(trace: Trace, event: ev.CollectiveCalled) -> str:
    return f"{collective_name(event)} {event.number} of {group_text(event)}, {amount(event)}"


def _why(trace: Trace, event: ev.CollectiveCalled) -> Statement:
    ranks = listed([str(rank) for rank in event.ranks])
    node, root = after_node(trace, event), ""
    if event.root >= 0:
        root = f" Rank {event.root} {'receives' if event.operator in _RECEIVING else 'sends'}."
    hook = (
        f" A hook makes the call while {node} runs, as DistributedDataParallel does when a bucket is full."
        if node
        else ""
    )
    text = (
        f"Rank {event.rank} calls {collective_name(event)}, collective {event.number} of {group_text(event)} (ranks "
        f"{ranks}), with {amount(event)}.{root} It ends when all ranks of the group have called it.{hook}"
    )
    return Statement("collective called", text)


_RECEIVING = frozenset({"c10d::reduce_", "c10d::gather_"})

COLLECTIVE_KINDS = Kind(
    ev.CollectiveCalled,
    group="dispatch",
    label=_label,
    why=_why,
    rule=Rule(
        "All ranks of a process group must call the same collectives in the same order.",
        "ProcessGroup::allreduce",
        "torch/csrc/distributed/c10d/ProcessGroup.hpp",
    ),
    known=Known("observed", "the kernel of the c10d operator is about to run"),
    level="calls",
    panes=("source", "tensors"),
)
"""The record of a collective."""
