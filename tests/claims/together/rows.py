"""Checks of a line's row: the keys that it names are the winners in the key-set pane."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.keys.key_text import is_backend
from dispatchviz.explain.outline.facts import facts
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.trace import Trace

Chain = tuple[str, ...]

MORE = "…"

PARTS = re.compile(r" \((?:composite|calls)[^)]*\)$")
"""The calls of the last kernel, behind the chain."""


def wrong_rows(trace: Trace) -> Iterator[str]:
    """Yield the calls of each line's row that differ from the panes."""
    lines = [*trace.steps_of(ev.SourceLine), len(trace)]
    for begin, after in pairwise(lines):
        for text, group in facts(trace, begin, after - 1):
            name, *keys = PARTS.sub("", text).split(" → ")
            if group == "dispatch" and keys:
                yield from _wrong(trace, begin, after, name, tuple(keys))


def _wrong(trace: Trace, begin: int, after: int, name: str, keys: Chain) -> Iterator[str]:
    chains = {chain_of(trace, step) for step in _calls(trace, begin, after, name)}
    if not any(_matches(keys, chain) for chain in chains):
        yield f"the row of step {begin} says {name} → {' → '.join(keys)}, the panes say {sorted(chains)}"


def _matches(keys: Chain, chain: Chain) -> bool:
    """Return whether a row has the whole chain, or its beginning with a sign that more follows."""
    if keys[-1] == MORE:
        return chain[: len(keys) - 1] == keys[:-1] and len(chain) >= len(keys)
    return keys == chain


def _calls(trace: Trace, begin: int, after: int, name: str) -> Iterator[int]:
    steps = trace.steps_of(ev.Dispatched)
    for step in steps[bisect_left(steps, begin) : bisect_right(steps, after - 1)]:
        call = trace[step]
        assert isinstance(call, ev.Dispatched)
        if call.how.startswith("call") and call.operator.rpartition("::")[2].partition(".")[0] == name:
            yield step


def chain_of(trace: Trace, step: int) -> Chain:
    """The keys that win in the panes of a call, and of the redispatches of its kernels, in order."""
    card, event = key_set_card(trace, step), trace[step]
    assert card is not None
    assert isinstance(event, ev.Dispatched)
    if is_backend(card.winner):
        return (card.winner,)  # its kernel computes, so a call that it makes is another call, even of the same operator
    steps = trace.steps_of(ev.Dispatched)
    for each in steps[bisect_right(steps, step) : bisect_right(steps, trace.ends[step])]:
        inner = trace[each]
        assert isinstance(inner, ev.Dispatched)
        if inner.operator == event.operator and _caller(trace, each) == step:
            return (card.winner, *chain_of(trace, each))
    return (card.winner,)


def _caller(trace: Trace, step: int) -> int | None:
    """The call around a call."""
    outer = around(trace, step, ev.Dispatched)
    return None if outer is None else outer.seq
