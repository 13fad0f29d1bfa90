"""An error as Python tells it: kept with the trace, or made of the lines on which the program stood."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.errors.traceback_text import traceback_at
from tests.explain.programs import traced

RAISES = """\
    import torch

    def inner(x):
        return x + torch.ones(3)

    inner(torch.ones(2))
"""
HANDLED = RAISES.replace(
    "    inner(torch.ones(2))", "    try:\n        inner(torch.ones(2))\n    except RuntimeError:\n        pass"
)
MESSAGE = "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"


def test_what_python_printed_is_kept() -> None:
    trace = traced(RAISES)
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    rows = traceback_at(trace, last.seq).splitlines()
    assert rows == last.traceback.splitlines()
    assert rows[0] == "Traceback (most recent call last):"
    assert [row.rpartition(", ")[2] for row in rows if row.startswith("  File")] == ["in <module>", "in inner"]
    assert "dispatchviz" not in "".join(rows)
    assert rows[-1] == MESSAGE


def test_every_step_of_such_a_program_leads_there() -> None:
    trace = traced(RAISES)
    (raised,) = trace.steps_of(ev.ErrorRaised)
    assert traceback_at(trace, 0) == traceback_at(trace, raised) == traceback_at(trace, len(trace) - 1)


def test_an_error_that_was_handled() -> None:
    trace = traced(HANDLED)
    (raised,) = trace.steps_of(ev.ErrorRaised)
    rows = traceback_at(trace, raised).splitlines()
    assert [row.strip() for row in rows[2::2][:2]] == ["inner(torch.ones(2))", "return x + torch.ones(3)"]
    assert rows[-1] == MESSAGE
    assert traceback_at(trace, 0) == ""


def test_an_older_trace_has_the_lines_of_its_last_step() -> None:
    trace = traced("import torch\nraise ValueError('x')\n")
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    older = type(trace)(
        trace.header, (*trace[:-1], ev.ProgramRaised(last.seq, last.parent, "ValueError", "x", last.file, 2))
    )
    rows = traceback_at(older, last.seq).splitlines()
    assert rows[1].endswith("line 2, in <module>")
    assert rows[-1] == "ValueError: x"
