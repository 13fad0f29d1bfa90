"""Readers of causes of errors, which read the program's lines again."""

from __future__ import annotations

import re

from dispatchviz.core.record import events as ev
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from tests.claims.together.reading import Problems, Step, reads


@reads(r"the result of the \w+ ([\w.]+) on line (\d+)", "shapes: broadcasting")
def one_of_several(step: Step, found: re.Match[str]) -> Problems:
    lines = [step.trace[at] for at in step.trace.steps_of(ev.SourceLine)]
    texts = {source_text(step.trace, line) for line in lines if line.line == int(found[2])}
    yield from (f"the line has one {found[1]}" for text in texts if text.count(found[1]) < 2)
