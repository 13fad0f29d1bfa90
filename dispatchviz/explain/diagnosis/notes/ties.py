"""Reductions that select an element. Several elements may be the largest, and may or may not share the gradient."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, first_run
from dispatchviz.explain.diagnosis.silent.calls import Call, outermost_calls
from dispatchviz.explain.diagnosis.words import last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.tensor_numbers import numbers_of
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

SHARES = {
    "MaxBackward1": "largest",
    "MinBackward1": "smallest",
    "AmaxBackward0": "largest",
    "AminBackward0": "smallest",
}
"""The Nodes that divide the gradient evenly among the elements that are equal to the result."""

CHOOSES = {"MaxBackward0": "largest", "MinBackward0": "smallest"}
"""The Nodes that give it to the element at the index that the call returned."""

OPERATORS = frozenset(("max", "min", "amax", "amin"))

LOOKED_AT = 500
"""The number of calls that are read."""


class Reduction(NamedTuple):
    """A call that returns the largest or smallest element, and its Node, which ran in a backward pass."""

    call: Call
    node: int
    name: str
    run: int


def ties(trace: Trace) -> Iterator[Note]:
    """Yield a note on each tensor whose largest element occurs several times, as far as the numbers are known.

    Without numbers: on a tensor that the program reduces in both ways.
    """
    by_tensor: dict[int, list[Reduction]] = {}
    for _, call in zip(range(LOOKED_AT), outermost_calls(trace, OPERATORS.__contains__), strict=False):
        found = _reduction(trace, call)
        if found is not None:
            by_tensor.setdefault(call.tensors[0], []).append(found)
    for tensor, reductions in by_tensor.items():
        times = _times(trace, tensor, reductions[0])
        both = len({each.name in SHARES for each in reductions}) == 2
        if times > 1 or (times < 0 and both):
            yield _note(trace, tensor, reductions, times)


def _reduction(trace: Trace, call: Call) -> Reduction | None:
    """Return a call that reduces a whole tensor and whose Node ran: the grad_fn of its first result."""
    last = trace[trace.ends[call.seq]]
    result = last.tensors[0] if isinstance(last, ev.KernelReturned) and last.tensors else None
    shape = None if result is None else index(trace).shape(result, last.seq)
    if result is None or shape is None or not call.tensors or math.prod(shape) != 1:
        return None
    node = index(trace).history(result, last.seq)
    made = None if node is None else index(trace).nodes.get(node)
    run = None if node is None else first_run(trace, node)
    if node is None or made is None or run is None:
        return None
    name = plain_node(made.name)
    return Reduction(call, node, name, run) if name in SHARES | CHOOSES else None


def _times(trace: Trace, tensor: int, one: Reduction) -> int:
    """Return the number of elements that are equal to the result; -1 if the recording does not have the values."""
    text = numbers_of(trace, tensor, one.call.seq)
    if not text:
        return -1
    try:
        numbers = list(_flat(json.loads(text)))
    except ValueError:  # nan and inf
        return -1
    best = max(numbers) if (SHARES | CHOOSES)[one.name] == "largest" else min(numbers)
    return numbers.count(best)


def _flat(numbers: object) -> Iterator[float]:
    if isinstance(numbers, list):
        for each in numbers:
            yield from _flat(each)
    elif isinstance(numbers, bool | int | float):
        yield numbers


def _note(trace: Trace, tensor: int, found: list[Reduction], times: int) -> Note:
    first, which = found[0], (SHARES | CHOOSES)[found[0].name]
    name = last_name(trace, tensor, first.call.seq)
    begin = f"{times} elements of {name} are the {which}. " if times > 1 else ""
    what = "them" if times > 1 else f"all elements of {name} that are the {which}"
    even = [each for each in found if each.name in SHARES]
    one = [each for each in found if each.name in CHOOSES]
    texts = []
    if even:
        texts.append(f"{_calls(trace, even)} divide{'s' * (len(even) == 1)} the gradient evenly among {what}")
    if one:
        texts.append(f"{_calls(trace, one)} give{'s' * (len(one) == 1)} it to the one element whose index it returned")
    if not even:
        texts = [texts[0].replace(" it ", " the gradient ", 1)]
    return Note(first.run, Statement("ties of a reduction", f"{begin}{'; '.join(texts)}."))


def _calls(trace: Trace, found: list[Reduction]) -> str:
    """Return ``max(dim) on line 6 (MaxBackward0)``"""
    spelled = (f"{each.call.name}{'(dim)' if each.name in CHOOSES else ''}" for each in found)
    places = (on_line(trace, each.call.seq, text=False) for each in found)
    return listed(
        list(
            dict.fromkeys(
                f"{what}{f' on {where}' if where else ''} ({each.name})"
                for what, where, each in zip(spelled, places, found, strict=True)
            )
        )[:4]
    )
