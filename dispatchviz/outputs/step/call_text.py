"""One call on one screen, to paste into an issue: key sets, mask, winner, table entry, redispatches, Node.

It has at most ``MOST`` lines, none wider than ``WIDTH``. Facts that a recording of an installed PyTorch does not see
are left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.redispatch_masks import mask_of
from dispatchviz.explain.cells.operator_names import every_operator
from dispatchviz.explain.keys.key_text import shown
from dispatchviz.explain.trace_index.display_names import described, node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text, within
from dispatchviz.explain.trace_index.recorded_engine import engine_text
from dispatchviz.foundation.english import shortened
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.log.log_filter import LogFilter, chosen_steps

WIDTH = 100
MOST = 40
LABEL = 14
"""The column in which values begin."""


def call_lines(trace: Trace, operator: str, line: str = "") -> list[str]:
    """Return the screen of the first call of an operator, on a line if one is given. Raise DispatchvizError if there is
    none.
    """
    wanted = set(every_operator(operator, tuple(dict.fromkeys(name for name, _, _ in trace.columns.calls()))))
    steps = chosen_steps(trace, LogFilter(operator=operator, line=line))
    found = (event for step in steps if isinstance(event := trace[step], ev.Dispatched))
    calls = [call for call in found if call.operator in wanted and not call.is_redispatch]
    if not calls:
        raise DispatchvizError(f"{operator}: {trace.header.program} only redispatches it there")
    rows = [*_head(trace, calls[0], len(calls)), *_dispatch(trace, calls[0]), *_inner(trace, calls[0])]
    lines = [part for row in rows for part in _wrapped(row)]
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], "..."]


def _head(trace: Trace, call: ev.Dispatched, calls: int) -> Iterator[str]:
    where = source_line(trace, call.seq)
    if where is not None:
        yield f"{where.file}, line {where.line}: {shortened(source_text(trace, where), 70)}"
    yield engine_text(trace.header)
    if calls > 1:
        yield f"the first of {calls} calls; --line chooses another one"
    yield ""


def _dispatch(trace: Trace, call: ev.Dispatched) -> Iterator[str]:
    """Yield how a call or a redispatch came to its kernel."""
    computed, chosen = within(trace, call.seq, ev.KeySetComputed), within(trace, call.seq, ev.KernelSelected)
    yield f"{call.how} {call.operator}"
    yield from _computed(trace, computed) if computed is not None else _passed(trace, call)
    yield _row("winner", call.key)
    if chosen is not None:
        yield _row(f"cell {chosen.cell}", _cell(chosen))


def _computed(trace: Trace, computed: ev.KeySetComputed) -> Iterator[str]:
    before = None
    for name, tensor, keys in computed.arguments:
        known = tensor_name(trace, tensor, computed.seq)
        about = described(trace, tensor, computed.seq)
        yield _row(name, f"{known}  {about}  {'same keys' if keys == before else f'{shown(keys)}'}")
        before = keys
    yield _row("+ included", shown(computed.included))
    yield _row("- excluded", shown(computed.excluded))
    lost = computed.with_included & ~computed.excluded & ~computed.effective
    yield _row("& mask", f"removes {shown(lost)}: the operator has fallthroughs there" if lost else "removes nothing")
    yield _row("remaining", shown(computed.effective))


def _passed(trace: Trace, call: ev.Dispatched) -> Iterator[str]:
    mask = mask_of(trace, call)
    if mask is not None:
        yield _row("& mask", mask.name)
    yield _row("remaining", shown(call.key_set))


def _cell(chosen: ev.KernelSelected) -> str:
    if not chosen.kernel:
        return f"empty ({chosen.reason})"
    source = f"registered to {chosen.source}" if chosen.source else chosen.reason
    return f"{chosen.kernel}, {source} {chosen.registered.removeprefix('registered ')}".rstrip()


def _inner(trace: Trace, call: ev.Dispatched) -> Iterator[str]:
    """Yield the Node that is recorded, the redispatches, and the other operators that the kernels call."""
    events = [trace[step] for step in range(call.seq + 1, trace.ends[call.seq] + 1)]
    for event in events:
        if isinstance(event, ev.NodeCreated) and not event.name.endswith("AccumulateGrad"):
            yield _row("records", f"{node_title(trace, event.node, event.seq)}, sequence number {event.sequence_nr}")
    dispatched = [event for event in events if isinstance(event, ev.Dispatched)]
    for event in dispatched:
        if event.operator == call.operator and event.is_redispatch:
            yield ""
            yield from _dispatch(trace, event)
    others = dict.fromkeys(f"{event.operator} ({event.key})" for event in dispatched if not event.is_redispatch)
    if others:
        yield ""
        yield _row("then calls", ", ".join(others))


def _row(label: str, text: str) -> str:
    return f"  {label:<{LABEL - 2}} {text}"


def _wrapped(row: str) -> list[str]:
    return textwrap.wrap(row, WIDTH, subsequent_indent=" " * (LABEL + 1), break_on_hyphens=False) or [""]
