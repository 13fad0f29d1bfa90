"""Checks of a line's row: the keys that it names are those that the key-set pane lets win."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.outline.facts import facts
from dispatchviz.trace import Trace

Chain = tuple[str, ...]


def wrong_rows(trace: Trace) -> Iterator[str]:
    """Of each line's row the calls that it does not tell as the panes do."""
    lines = [*trace.steps_of(ev.SourceLine), len(trace)]
    for begin, after in pairwise(lines):
        for text, group in facts(trace, begin, after - 1):
            name, *keys = text.split(" → ")
            if group == "dispatch" and keys:
                yield from _wrong(trace, begin, after, name, tuple(keys))


def _wrong(trace: Trace, begin: int, after: int, name: str, keys: Chain) -> Iterator[str]:
    chains = {chain_of(trace, step) for step in _calls(trace, begin, after, name)}
    if keys not in chains:
        yield f"the row of step {begin} says {name} → {' → '.join(keys)}, the panes say {sorted(chains)}"


def _calls(trace: Trace, begin: int, after: int, name: str) -> Iterator[int]:
    steps = trace.steps_of(ev.Dispatched)
    for step in steps[bisect_left(steps, begin) : bisect_right(steps, after - 1)]:
        call = trace[step]
        assert isinstance(call, ev.Dispatched)
        if call.how.startswith("call") and call.operator.rpartition("::")[2].partition(".")[0] == name:
            yield step


def chain_of(trace: Trace, step: int) -> Chain:
    """The keys that win in the pane of a call and of the redispatches that its kernels make, one after the other."""
    card, event = key_set_card(trace, step), trace[step]
    assert card is not None
    assert isinstance(event, ev.Dispatched)
    inner = (trace[each] for each in range(step + 1, trace.ends[step] + 1))
    first = next((each for each in inner if isinstance(each, ev.Dispatched)), None)
    if first is None or first.operator != event.operator or not first.how.startswith("redispatch"):
        return (card.winner,)
    return (card.winner, *chain_of(trace, first.seq))
