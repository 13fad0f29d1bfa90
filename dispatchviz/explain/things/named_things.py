"""Search for the tensors and Nodes that the sentence of a step names, if the event does not contain their numbers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.display_names import plain_node

NUMBERED = re.compile(r"\((?P<node>n\d{1,18})\)|\b(?P<tensor>t\d{1,18})\b")
"""The pattern of names with a number: ``z (t4)``, ``SumBackward0 (n2)``."""

WORD = re.compile(r"(?<![\w'.])[A-Za-z_]\w*")

NAMING = (
    ev.SourceLine,
    ev.Warned,
    ev.ErrorRaised,
    ev.ProgramRaised,
    ev.GuardEntered,
    ev.DependenciesCounted,
    ev.ExecInfoPopulated,
)
"""The kinds of events whose sentences may name variables and Nodes without a number in the event."""

ARTICLE = "a"
"""A word that is no variable in a sentence but may be one in a line of the program."""


def things_in_sentence(trace: Trace, at: int) -> Iterator[TensorThing | NodeThing]:
    """Yield the tensors and Nodes in the order of the sentence, those with numbers first."""
    text = " ".join(statement.text for statement in statements(trace, at))
    for found in NUMBERED.finditer(text):
        yield NodeThing(int(found["node"][1:])) if found["node"] else TensorThing(int(found["tensor"][1:]))
    event = trace[at]
    if isinstance(event, NAMING):
        for word in WORD.findall(text):
            if word != ARTICLE or isinstance(event, ev.SourceLine):
                yield from _called(trace, at, word)


def _called(trace: Trace, at: int, word: str) -> Iterator[TensorThing | NodeThing]:
    """Yield the tensor that a variable names at a step, or the last Node of that type made by then."""
    columns = trace.columns
    for number, name in enumerate(columns.name_texts):
        if word not in (name, plain_node(name)):
            continue
        steps = columns.of_name.get(number, ())
        place = bisect_right(steps, at)
        last = trace[steps[place - 1]] if place else None
        if isinstance(last, ev.NameBound):
            yield TensorThing(last.tensor)
        elif isinstance(last, ev.NodeCreated):
            yield NodeThing(last.node)
