"""Warnings are events, and the program gets its warnings as under Python."""

from __future__ import annotations

import warnings

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.seam import recorder
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.outline.facts import facts
from dispatchviz.running.program_recorder import ProgramRecorder
from tests.explain.programs import traced
from tests.steps import line


def warned(trace: Trace) -> list[ev.Warned]:
    return [event for event in trace if isinstance(event, ev.Warned)]


def said(trace: Trace) -> list[tuple[str, str, int]]:
    return [(event.category, event.message.partition(" ")[0], event.line) for event in warned(trace)]


def test_warnings_of_pytorch_and_of_the_program_are_events() -> None:
    trace = traced("""\
        import warnings; warnings.simplefilter("default")
        import torch

        y = torch.ones(2, requires_grad=True) * 2
        y.grad
        warnings.warn("mine", DeprecationWarning)
    """)
    assert said(trace) == [("UserWarning", "The", 5), ("DeprecationWarning", "mine", 6)]
    first, own = warned(trace)
    assert first.file in trace.header.sources
    assert own.parent == line(trace, 6)
    assert label(trace, own.seq) == "DeprecationWarning: mine"
    assert why_here(trace, own.seq) == f"Python issues a DeprecationWarning for line 6 of {own.file}: mine"
    assert ("! DeprecationWarning", "error") in facts(trace, line(trace, 6), len(trace) - 1)


def test_ignored_warning_is_no_event_and_raised_one_is_an_error() -> None:
    trace = traced("""\
        import warnings
        import torch

        warnings.simplefilter("ignore")
        warnings.warn("never")
        warnings.simplefilter("error")
        warnings.warn("raised")
    """)
    assert warned(trace) == []
    last = trace[-1]
    assert isinstance(last, ev.ProgramRaised)
    assert (last.exception, last.message, last.line) == ("UserWarning", "raised", 7)


def test_warning_is_recorded_once_for_each_place() -> None:
    trace = traced("""\
        import warnings; warnings.simplefilter("default")
        import torch

        for iteration in range(3):
            warnings.warn("again")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for iteration in range(2):
                warnings.warn("kept")
        print(len(seen), seen[0].lineno)
    """)
    assert said(trace) == [("UserWarning", "again", 5), ("UserWarning", "kept", 9), ("UserWarning", "kept", 9)]
    assert [event.text for event in trace if isinstance(event, ev.Printed)] == ["2 9\n"]


def test_the_programs_own_showwarning_gets_it(capfd: pytest.CaptureFixture[str]) -> None:
    trace = traced("""\
        import warnings; warnings.simplefilter("default")
        import torch

        print(warnings.showwarning is warnings._showwarning_orig)
        warnings.showwarning = lambda message, category, *where: print("own", message)
        warnings.warn("mine")
    """)
    assert said(trace) == [("UserWarning", "mine", 6)]
    assert [event.text for event in trace if isinstance(event, ev.Printed)] == ["True\n", "own mine\n"]
    assert capfd.readouterr().err == ""


def test_warning_that_pytorch_writes_to_stderr_is_an_event(capfd: pytest.CaptureFixture[str]) -> None:
    trace = traced("""\
        import torch

        torch.ops.aten.numpy_T(torch.ones(2, 2, 2))
    """)
    (event,) = warned(trace)
    assert (event.category, event.file, event.line) == ("", "aten/src/ATen/native/TensorShape.cpp", 0)
    assert event.message in capfd.readouterr().err
    assert why_here(trace, event.seq).startswith("PyTorch writes a warning to stderr (aten/src/ATen/native/Tens")


def test_a_recording_that_has_stopped_gets_none() -> None:
    watcher = ProgramRecorder()
    recorder.start(watcher)
    watcher.warning_shown("UserWarning", "one", "", 0)
    recorder.stop(watcher)
    watcher.warning_shown("UserWarning", "two", "", 0)
    assert [event.message for event in watcher.events if isinstance(event, ev.Warned)] == ["one"]


def test_warnings_are_as_before_when_the_program_is_over() -> None:
    before = vars(warnings)["_showwarnmsg"]
    traced("import torch\n")
    assert vars(warnings)["_showwarnmsg"] is before
