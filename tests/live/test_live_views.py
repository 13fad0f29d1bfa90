"""Views of recordings of an installed PyTorch: all views of steps of every kind, and how each kind is known."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from dispatchviz import Trace
from dispatchviz.cli import main
from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.explain.kinds.compile import COMPILE_KINDS
from dispatchviz.explain.kinds.compiled_autograd import COMPILED_AUTOGRAD_KINDS
from dispatchviz.live.installed_torch import accelerator, cuda_text, installed_torch
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.step.step_text import BECAUSE, LOG, THEN_AND_NOW, view_names, view_text
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from tests.amounts import some
from tests.live.live_programs import PROGRAMS

pytestmark = pytest.mark.torch

NEVER = re.compile(
    r"(?:Ready queue|is ready in the queue|outstanding_tasks_|exec_info_|dependencies_|task_should_compute_output"
    r"|No structured kernel|requires? grad; no key|do(?:es)? not require grad|not called yet"
    r"|version 0$|(?<![/\w])core/|emulated|the model of|build cuda|runs here +○|no write in place)"
)
"""Facts that are not seen, or that hold only for the model."""

UNSEEN = re.compile(r"\bnot seen\b|\bunseen\b", re.IGNORECASE)
"""The words for a fact that a release build does not show."""

GENERAL = (LOG, THEN_AND_NOW, BECAUSE)
"""Rules for every program; the log has all steps."""

OF_EACH_KIND = 3
"""The number of steps of each kind that are checked in each view."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """Return all traces, recorded one after the other in this process."""
    folder = tmp_path_factory.mktemp("live")
    return {name: recorded(folder / f"{name.replace(' ', '_')}.py", text) for name, text in PROGRAMS.items()}


def recorded(file: Path, text: str) -> Trace:
    file.write_text(text)
    return program.run(str(file), output=StringIO(), engine=engine_named("torch"), hashes=True, values=16).trace


def steps(trace: Trace) -> Iterator[int]:
    """Yield the first steps of each kind, and the last one."""
    for kind in {type(event) for event in trace}:
        own = trace.steps_of(kind)
        yield from dict.fromkeys((*own[:OF_EACH_KIND], own[-1]))


@pytest.mark.parametrize("view", [name for name in view_names() if name not in GENERAL])
@pytest.mark.parametrize("name", some(list(PROGRAMS), 3))
def test_no_view_is_empty_or_shows_unseen_facts(traces: dict[str, Trace], name: str, view: str) -> None:
    trace = traces[name]
    said = () if accelerator(installed_torch()) == "CPU" else ("build cuda",)  # it has CUDA's kernels

    for step in steps(trace):
        text = view_text(trace, step, view)
        assert text
        assert not [found for found in NEVER.findall(text) if found not in said], (step, type(trace[step]).__name__)
        assert len(UNSEEN.findall(text)) <= 1, (step, text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_log_begins_with_what_was_observed(traces: dict[str, Trace], name: str) -> None:
    first = list(text_log(traces[name]))[:3]

    torch = installed_torch()
    assert first[0].endswith(f" on PyTorch {torch.__version__} (installed, observed), cuda: {cuda_text(torch)}")
    if traces[name].header.differs:
        assert first[1] == "differences from PyTorch 2.14:"
    else:
        assert first[1].endswith("not visible in a release build: dispatchviz doctor --unseen lists them")
        assert not first[2]


def test_the_log_names_the_command_that_lists_what_is_not_seen(
    traces: dict[str, Trace], capfd: pytest.CaptureFixture[str]
) -> None:
    trace = next(iter(traces.values()))
    [said] = [row for row in text_log(trace) if row.endswith("dispatchviz doctor --unseen lists them")]
    assert said.startswith(f"{len(trace.header.blind_spots)} kinds of facts are not visible")
    assert main(["doctor", "--unseen"]) == 0
    listed = capfd.readouterr().out.splitlines()
    assert {f"  {sentence}" for sentence in trace.header.blind_spots} <= set(listed)


def test_kinds_are_known_as_the_table_says(traces: dict[str, Trace]) -> None:
    """``test_compiled_steps.py`` and ``test_ranks.py`` record the kinds that these programs do not have."""
    met = {type(event) for trace in traces.values() for event in trace}

    elsewhere = {*COMPILE_KINDS.records, *COMPILED_AUTOGRAD_KINDS.records, ev.CollectiveCalled}
    assert met | elsewhere == {kind for kind, record in KINDS.items() if record.known.how != "unseen"}


def test_fields_that_are_not_seen_have_one_value(traces: dict[str, Trace]) -> None:
    values = defaultdict(set)
    for event in (event for trace in traces.values() for event in trace):
        for field, (how, _) in KINDS[type(event)].known.fields.items():
            if how == "unseen":
                values[type(event), field].add(getattr(event, field))

    assert values
    assert all(len(found) == 1 for found in values.values()), values


@pytest.mark.parametrize(("name", "failed"), [("founding", 0), ("error in backward", 1)])
def test_a_node_has_run_if_the_engine_went_on(traces: dict[str, Trace], name: str, failed: int) -> None:
    trace = traces[name]
    text = view_text(trace, len(trace) - 1, "graph")

    assert text.count("raised an error") == failed
    assert text.count(" done ") == len(trace.steps_of(ev.NodeStarted)) - failed
