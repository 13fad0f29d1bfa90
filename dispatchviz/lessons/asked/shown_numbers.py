"""The recorded numbers that would show the answer of a question before its stop.

A gradient exists some steps before ``.grad`` gets it, so its numbers are there, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

_ONLY_NUMBERS = re.compile(r"[-+\d.e,\s\[\]]*\d[-+\d.e,\s\[\]]*")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def first_shown(trace: Trace, answer: str, steps: range) -> int:
    """Return the first of these steps whose recorded numbers contain the answer; 0 if none does, or if the answer is no
    number.
    """
    if not _ONLY_NUMBERS.fullmatch(answer):
        return 0
    wanted = _NUMBER.findall(answer)
    for step in trace.steps_of(ev.NumbersRecorded):
        event = trace[step]
        if step in steps and isinstance(event, ev.NumbersRecorded) and _contain(event.numbers, wanted):
            return step
    return 0


def _contain(numbers: str, wanted: Sequence[str]) -> bool:
    found = [float(number) for number in _NUMBER.findall(numbers)]
    width = len(wanted)
    return any(all(map(_is_same, found[at : at + width], wanted)) for at in range(len(found) - width + 1))


def _is_same(number: float, wanted: str) -> bool:
    """Return whether a recorded number is the wanted one, which may be rounded."""
    decimals = len(wanted.partition("e")[0].partition(".")[2])
    return number == float(wanted) or (bool(decimals) and round(number, decimals) == float(wanted))
