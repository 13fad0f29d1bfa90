"""The hits of a search that the columns of a trace contain: names of kinds, variables and operators. No label is made
for them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.lookups import neighbor


class StepsByName:
    """The steps whose names contain all words of a query. Each run of steps is in order, and no step is in two runs."""

    def __init__(self, *runs: Sequence[int]) -> None:
        self._runs = runs

    def next(self, at: int, forward: bool = True) -> int | None:
        """The nearest such step on one side of a step; None if there is none."""
        found = (neighbor(run, at, forward) for run in self._runs)
        return (min if forward else max)((step for step in found if step is not None), default=None)

    def __contains__(self, step: int) -> bool:
        return self.next(step - 1) == step

    def __len__(self) -> int:
        return sum(map(len, self._runs))


def steps_by_name(trace: Trace, words: Sequence[str], end: int) -> StepsByName:
    """The steps before ``end`` whose kind contains every word in its name, and those that name a matching tensor or
    Node. If there are no such kinds, the calls that contain the words in kind, operator and key.
    """
    columns = trace.columns
    kinds = [name for name in columns.kind_names if _has_all(name.casefold(), words)]
    codes = map(columns.kind_names.index, kinds)
    found = [columns.of_kind[code] for code in codes if code in columns.of_kind]
    calls = () if found else _calls(trace, words)
    naming = () if NAMING.intersection(kinds) else _naming(trace, words)
    runs = (*found, *naming, *calls)
    return StepsByName(*(runs if end >= len(trace) else (run[: bisect_left(run, end)] for run in runs)))


NAMING = {"NameBound", "NodeCreated"}
"""The kinds of events that have a name in the columns."""


def _naming(trace: Trace, words: Sequence[str]) -> Iterator[Sequence[int]]:
    columns = trace.columns
    for number, name in enumerate(columns.name_texts):
        if _has_all(plain_node(name).casefold(), words):
            yield columns.of_name.get(number, ())


def _calls(trace: Trace, words: Sequence[str]) -> Iterator[Sequence[int]]:
    for operator, key, steps in trace.columns.calls():
        if _has_all(f"{operator} → {key} dispatched".casefold(), words):
            yield steps


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
