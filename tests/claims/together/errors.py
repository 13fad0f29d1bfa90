"""A check of the tensors without a name in the causes of errors, which counts the calls of the line again."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.words import base_name
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from tests.claims.together.reading import RESULT, Problems, Step, beside


@beside
def one_of_several(step: Step) -> Problems:
    for statement in step.statements:
        for found in RESULT.finditer(statement.text):
            if _calls(step, found[2], int(found[3])) < 2:
                yield f"line {found[3]} has one {found[2]}"


def _calls(step: Step, name: str, number: int) -> int:
    """Return the number of calls of an operator on a line, by the events or by the text of the line."""
    events = [step.trace[at] for at in step.trace.steps_of(ev.Dispatched)]
    lines = [source_line(step.trace, call.seq) for call in events if base_name(call) == name]
    texts = [
        source_text(step.trace, line)
        for at in step.trace.steps_of(ev.SourceLine)
        if (line := step.trace[at]).line == number
    ]
    return max(
        sum(line is not None and line.line == number for line in lines), *(text.count(name) for text in texts), 0
    )
