"""The registrations of an operator as lines: one step with the table after it, and the whole history for a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.events import KernelRegistered
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.cells.registration.program_registrations import history_here, operator_here
from dispatchviz.explain.cells.registration.registration_history import LitTable, RegistrationHistory, lit_table
from dispatchviz.explain.cells.registration.registration_steps import ALIAS, ChangedCells, RegistrationStep
from dispatchviz.explain.keys.key_text import grouped_keys_text
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.foundation.pytorch_release import RELEASE
from dispatchviz.views.cards.registration_step_text import held, step_lines
from dispatchviz.views.cards.registration_text import history_lines
from dispatchviz.views.text.marked_console import MarkedConsole, spans
from dispatchviz.views.text.styled_line import Line, line


def refusal(trace: Trace, at: int) -> str:
    """The reason why a step has no history: no operator, or an operator whose registrations the trace does not have."""
    event, operator = trace[at], operator_here(trace, at)
    if isinstance(event, KernelRegistered) and not event.operator:
        return "A fallback applies to all operators. Go to a call to see it in the history of that operator"
    if not operator:
        return "No operator runs at this step"
    return f"{operator} is not an operator of PyTorch, and the trace has no registration of it up to this step"


def history_rows(trace: Trace, at: int, width: int) -> Iterator[Line]:
    """Yield the whole history of the operator at a step."""
    history = history_here(trace, at)
    if history is None:
        yield line(f"{refusal(trace, at)}.")
        return
    if is_live(trace.header):
        said = "as released. The steps of this trace show what the installed build registers"
        yield line((f"Registrations of PyTorch {RELEASE}, {history.build} build, {said}.", "dim"))
    for text in history_lines(history, (), False, MarkedConsole(width)):
        yield line(*spans(text), indent=8)


def step_rows(history: RegistrationHistory, number: int, width: int) -> Iterator[Line]:
    """Yield one registration and the whole table after it, with the changed entries highlighted."""
    step = history.steps[number - 1]
    for text in step_lines(step, MarkedConsole(width), changes=False):
        yield line(*spans(text), indent=8)
    yield from _table(lit_table(history, number), step)


def _table(table: LitTable, step: RegistrationStep) -> Iterator[Line]:
    yield line()
    if not step.exists:
        yield line(("The operator has no table yet.", "dim"))
        return
    if not table.changed:
        yield line(("No table entry changes.", "title"))
    for place, changed in enumerate(table.changed):
        if place == 0:
            yield line(("Changed now", "title"))
        yield _changed(changed)
        if place == 0 and step.kind != ALIAS:  # the sentences of an alias contain the reason
            yield line("      ", (changed.why, "dim"), indent=6)
    yield line()
    yield from _kept(table)


def _changed(changed: ChangedCells) -> Line:
    number = f"{len(changed.keys)} entries, " if len(changed.keys) > 1 else ""
    keys = grouped_keys_text([DispatchKey[key] for key in changed.keys])
    after = (changed.after.kernel, "winner") if changed.after.kernel else ("no kernel", "error")
    return line(
        ("  ● ", "good"),
        (f"{number}{keys}", "lit"),
        ": ",
        after,
        (f" [{changed.after.reason}]", "dim"),
        (f"  was {held(changed.before)}", "was"),
        indent=6,
        shaded=True,
    )


def _kept(table: LitTable) -> Iterator[Line]:
    """Yield the unchanged entries of the table."""
    if table.kept or table.fallbacks:
        yield line(("As before", "title"))
    for keys, what in table.kept:
        yield line("    ", (keys, "key"), f": {what.kernel}", (f" [{what.reason}]", "dim"), indent=6)
    if table.fallbacks:
        yield line("    ", (table.fallbacks, "key"), ": the keys' own fallbacks", indent=6)
    if table.empty:
        yield line(("Empty", "title"), ("  ", ""), (table.empty, "dim"), indent=4)
