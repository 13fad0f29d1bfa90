"""The numbers of small tensors that commands record: up to a limit by default, with ``--values`` all, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.cli import recorded_values
from dispatchviz.cli.recorded_values import RecordedValues
from dispatchviz.cli.script_run import run_script
from dispatchviz.core.record import events as ev
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.trace import Trace

from .command import dispatchviz, script

LOOP = "import torch\nx = torch.zeros(2)\nfor step in range({}):\n    x.add_(1)\n"
"""A program whose numbers are recorded once for each iteration, and twice before."""


def recorded(tmp_path: Path, values: bool | None = None, only: tuple[str, ...] = (), iterations: int = 9) -> Trace:
    return run_script(
        str(tmp_path / script(tmp_path, LOOP.format(iterations))), (), "auto", None, only=only, values=values
    ).trace


def test_values_are_recorded_by_default(tmp_path: Path) -> None:
    name = script(tmp_path, LOOP.format(2))
    for command in (("trace",), ("run",), ("run", "--plain")):
        ended = dispatchviz(*command, name, cwd=tmp_path)
        assert "x holds [2.0, 2.0]" in ended.out, command
        assert "x holds [" not in dispatchviz(*command, "--no-values", name, cwd=tmp_path).out


def test_values_are_recorded_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_values, "SMALL", RecordedValues(16, 6))
    assert end_of_numbers(recorded(tmp_path, iterations=1)) is None
    trace = recorded(tmp_path)
    assert end_of_numbers(trace) == trace.steps_of(ev.NumbersRecorded)[-1]
    assert len(trace.steps_of(ev.NumbersRecorded)) == 6 + 1
    whole = recorded(tmp_path, values=True)
    assert end_of_numbers(whole) is None
    assert len(whole.steps_of(ev.NumbersRecorded)) > 6 + 1
    assert not recorded(tmp_path, values=False).steps_of(ev.NumbersRecorded)


def test_values_are_recorded_for_part_of_a_run(tmp_path: Path) -> None:
    assert recorded(tmp_path, only=("line=4",)).steps_of(ev.NumbersRecorded)


@pytest.mark.torch
def test_recording_of_installed_pytorch_has_values(tmp_path: Path) -> None:
    name = script(tmp_path, LOOP.format(1))
    for option, holds in ((), True), (("--values",), True), (("--no-values",), False):
        ended = dispatchviz("trace", "--engine", "torch", *option, name, cwd=tmp_path)
        assert (ended.status, "x holds [1.0, 1.0]" in ended.out) == (0, holds), option
