"""The Nodes that will raise in backward because of an in-place change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.version_counters import (
    Change,
    by_checkpoint,
    invalidated_by,
    undetected_by,
)
from dispatchviz.explain.sentences.sentence_claims import BackwardRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
DETACHED = "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
"""The beginnings of PyTorch's messages."""


def warnings(trace: Trace, event: Change) -> tuple[Statement, ...]:
    """Return the Nodes that saved the old version, with their lines; empty if there are none."""
    functions, invalidated = index(trace).functions, invalidated_by(trace, event)
    formulas = [saved for saved in invalidated if saved.node not in functions]
    own = [saved for saved in invalidated if saved.node in functions]
    packed = undetected_by(trace, event)
    recomputed = [saved for saved in packed if by_checkpoint(trace, saved)]
    statements = (
        _formulas(trace, event, formulas),
        _functions(trace, event, own),
        _packed(trace, event, [saved for saved in packed if saved not in recomputed]),
        _checkpointed(trace, event, recomputed),
    )
    return tuple(statement for statement in statements if statement.text)


def _formulas(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """Return the warning for formulas, which unpack all saved tensors of their Node before they compute anything."""
    nodes = _by_node(kept)
    keepers = listed([_keeper(trace, event, some) for some in nodes.values()])
    will = f"{'its' if len(nodes) == 1 else 'their'} backward will raise an error"
    if isinstance(event, ev.RequiresGradSet):
        text = f"{keepers}, with its history: {will}." if nodes else ""
        return Statement("saved tensor detached", text, _raises(kept, DETACHED))
    return Statement("saved version passed", f"{keepers}: {will}." if nodes else "", _raises(kept, MODIFIED))


def _functions(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """Return the warning for a Function's backward, which unpacks when it reads ``ctx.saved_tensors``."""
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    text = f"{keepers}: reading ctx.saved_tensors in backward will raise an error." if keepers else ""
    claims = _raises(kept, DETACHED if isinstance(event, ev.RequiresGradSet) else MODIFIED)
    return Statement("saved version of a Function passed", text, claims)


def _packed(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    whose = "its" if len(_by_node(kept)) == 1 else "their"
    will = f"no version is compared, so this change will not make {whose} backward raise an error"
    text = f"{keepers}, packed by a hook: {will}." if keepers else ""
    claims = tuple(BackwardRaises(saved.node, saved.name, raises=False) for saved in kept)
    return Statement("packed version passed", text, claims)


def _checkpointed(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> Statement:
    """Return the warning for a checkpoint, whose inputs are saved with their versions until it recomputes."""
    keepers = listed([_keeper(trace, event, some) for some in _by_node(kept).values()])
    will = "the saved tensor will be recomputed, which raises an error if an input of the checkpoint has changed"
    text = f"{keepers}, within a checkpoint: {will}." if keepers else ""
    return Statement("checkpointed version passed", text)


def _raises(kept: Iterable[ev.VariableSaved], message: str) -> tuple[BackwardRaises, ...]:
    return tuple(BackwardRaises(saved.node, saved.name, raises=True, message=message) for saved in kept)


def _keeper(trace: Trace, event: Change, kept: Sequence[ev.VariableSaved]) -> str:
    """Return ``MulBackward0 (n2), made on line 6, saved version 0 as other and self``."""
    node, first = node_title(trace, kept[0].node, event.seq), kept[0]
    what = "it" if isinstance(event, ev.RequiresGradSet) else f"version {first.version}"
    return f"{node}{_made_on(trace, first.seq)}saved {what} as {_as(kept)}"


def _by_node(kept: Sequence[ev.VariableSaved]) -> dict[int, list[ev.VariableSaved]]:
    found: dict[int, list[ev.VariableSaved]] = defaultdict(list)
    for saved in kept:
        found[saved.node].append(saved)
    return found


def _as(kept: Sequence[ev.VariableSaved]) -> str:
    return listed([saved.name for saved in kept])


def _made_on(trace: Trace, seq: int) -> str:
    line = source_line(trace, seq)
    return " " if line is None else f", made on line {line.line}, "
