"""An optimizer that holds parameters that the model no longer has, and lacks those that replaced them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.calls import calls_between, lines_with
from dispatchviz.explain.diagnosis.silent.leaves import named
from dispatchviz.explain.diagnosis.silent.missing_gradients import parameters
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

OPTIMIZERS = "SGD|Adam|AdamW|Adamax|NAdam|RAdam|SparseAdam|RMSprop|Adagrad|Adadelta|ASGD|Rprop|LBFGS|Adafactor|Muon"
MAKES = re.compile(rf"([A-Za-z_][\w.]*)\s*=\s*(?:[\w.]*\.)?(?:{OPTIMIZERS})\(.*\bparameters\(\)")
"""The pattern of ``opt = torch.optim.SGD(net.parameters(), lr=0.1)``."""


def stale_optimizers(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis if parameters that get gradients are newer than the optimizer, and no step changes them."""
    sources = trace.header.sources.values()
    if not any("parameters()" in text for text in sources) or any("add_param_group" in text for text in sources):
        return
    made = _first_runs(trace, MAKES.search)
    if len(made) != 1:
        return
    optimizer = MAKES.search(_text(trace, made[0]))
    name = "" if optimizer is None else optimizer[1].rpartition(".")[2]
    steps = [step for step in lines_with(trace, lambda text: f"{name}.step(" in text) if step > made[0]]
    if not name or not steps:
        return
    for own in parameters(trace).values():
        lacking = [each for each in own if _lacks(trace, each, made[0], steps)]
        if lacking:
            yield _diagnosis(trace, name, made[0], steps, lacking)


def _first_runs(trace: Trace, wanted: Callable[[str], object]) -> list[int]:
    """Return the steps at which lines with a wanted text run. Returns to the same line do not count."""
    events = (trace[step] for step in lines_with(trace, wanted))
    return [event.seq for event in events if isinstance(event, ev.SourceLine) and not event.resumed]


def _text(trace: Trace, step: int) -> str:
    line = trace[step]
    if not isinstance(line, ev.SourceLine):
        return ""
    lines = trace.header.sources.get(line.file, "").split("\n")
    return lines[line.line - 1] if 0 < line.line <= len(lines) else ""


def _lacks(trace: Trace, tensor: int, made: int, steps: list[int]) -> bool:
    """Return whether a parameter that is newer than the optimizer gets a gradient, and the next step does not change
    it.
    """
    created = index(trace).tensors.get(tensor)
    written = index(trace).steps_about(tensor, ev.GradientAccumulated)
    if created is None or created.seq < made or created.how != "new" or not written:
        return False
    place = bisect_right(steps, written[0])
    if place == len(steps):
        return False
    later = bisect_right(lines := trace.steps_of(ev.SourceLine), steps[place])
    end = lines[later] if later < len(lines) else len(trace) - 1
    return not any(tensor in call.written for call in calls_between(trace, steps[place], end))


def _diagnosis(trace: Trace, name: str, made: int, steps: list[int], lacking: list[int]) -> Diagnosis:
    names, several = named(trace, lacking, len(trace) - 1), len(lacking) > 1
    first, born = index(trace).gradients[lacking[0]].steps[0], _line_of(trace, lacking[0], made)
    step, them = steps[bisect_right(steps, first)], "them" if several else "it"
    text = (
        f"{name} holds the parameters that existed on {on_line(trace, made)}. {capital(on_line(trace, born))} made "
        f"{names} afterwards, so {name} does not hold {them}: {on_line(trace, step)} does not change {them}, although "
        f"{'they have gradients' if several else 'it has a gradient'}."
    )
    cause = Statement("parameter that the optimizer lacks", text)
    fix = f"Create {name} after {on_line(trace, born, text=False)}: move {on_line(trace, made, text=False)} there."
    return Diagnosis("silent mistake", step, (cause,), "", (fix,), (made, born, step))


def _line_of(trace: Trace, tensor: int, made: int) -> int:
    """Return the line that made a tensor, in the function that made the optimizer if that function called the line."""
    born, beside = index(trace).tensors[tensor].seq, trace[made]
    for line in user_stack(trace, born):
        if isinstance(beside, ev.SourceLine) and (line.file, line.function) == (beside.file, beside.function):
            return line.seq
    return born


RULES = (stale_optimizers,)
