"""Find the tensors and Nodes that the sentence of a step names, for steps whose event has no number of them."""

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
"""Names that have a number: ``z (t4)``, ``SumBackward0 (n2)``."""

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
"""The kinds whose sentences may name variables and Nodes without a number of them in the event."""

ARTICLE = "a"
"""In a sentence this is no variable; in a line of the program it is one."""


def things_in_sentence(trace: Trace, at: int) -> Iterator[TensorThing | NodeThing]:
    """In the order of the sentence, those with numbers first."""
    text = " ".join(statement.text for statement in statements(trace, at))
    for found in NUMBERED.finditer(text):
        yield NodeThing(int(found["node"][1:])) if found["node"] else TensorThing(int(found["tensor"][1:]))
    event = trace[at]
    if isinstance(event, NAMING):
        for word in WORD.findall(text):
            if word != ARTICLE or isinstance(event, ev.SourceLine):
                yield from _called(trace, at, word)


def _called(trace: Trace, at: int, word: str) -> Iterator[TensorThing | NodeThing]:
    """The tensor that a variable names as of a step, or the last Node of a type that was made by then."""
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
