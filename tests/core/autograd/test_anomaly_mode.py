"""Anomaly mode beyond the recorded programs (``anomaly.txt``).

The tests run on the model and, with the mark ``torch``, on real PyTorch.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.autograd.engine import anomaly_mode, engine
from dispatchviz.core.autograd.graph import node
from dispatchviz.core.record import events
from dispatchviz.running.process_state import clean_process_state

from .leaves import leaf, of_kind


@pytest.fixture
def anomaly(torch: Any) -> Iterator[None]:
    with torch.autograd.set_detect_anomaly(True):
        yield


def made_here(x: Any) -> Any:
    return x.exp()


@pytest.mark.usefixtures("anomaly")
def test_the_stack_ends_at_the_users_line(torch: Any) -> None:
    lines = made_here(leaf(torch)).grad_fn.metadata["traceback_"]
    assert lines[-1].startswith(f'  File "{__file__}", line ')
    assert lines[-1].endswith(", in made_here\n    return x.exp()\n")
    assert lines[-2].endswith('lines = made_here(leaf(torch)).grad_fn.metadata["traceback_"]\n')


@pytest.mark.usefixtures("anomaly")
def test_warnings_name_each_node_up_to_the_first(torch: Any) -> None:
    x = leaf(torch)
    (g,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    names = [f"Error detected in {h.grad_fn.name()}. Traceback of forward call that caused the error:"]
    made = h.grad_fn
    while (made := made.metadata.get("parent_")) is not None:
        names.append(f"Previous calculation was induced by {made.name()}. Traceback of forward call that induced the")
    h.grad_fn.register_hook(lambda to, given: 1 // 0)
    with (
        pytest.raises(ZeroDivisionError),
        pytest.warns(UserWarning, match="Error detected|Previous calculation") as caught,
    ):
        h.sum().backward()
    assert len(names) == 3
    for warning, name in zip(caught, names, strict=True):
        assert str(warning.message).lstrip().startswith(name)


def test_every_thread_is_in_the_mode(torch: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with torch.autograd.set_detect_anomaly(True), ThreadPoolExecutor(1) as other:
        made = other.submit(made_here, leaf(torch)).result()
    assert "made_here" in made.grad_fn.metadata["traceback_"][-1]


def test_detect_anomaly_warns_at_its_creation(torch: Any) -> None:
    with pytest.warns(UserWarning, match=r"^Anomaly Detection has been enabled") as caught:
        torch.autograd.detect_anomaly()
    assert caught[0].filename == __file__
    assert not torch.is_anomaly_enabled()


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((3,), {}, "set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not int"),
        ((True, 2), {}, "set_anomaly_enabled(): argument 'check_nan' (position 2) must be bool, not int"),
        ((), {}, 'set_anomaly_enabled() missing 1 required positional arguments: "enabled"'),
        ((True,), {"mode": False}, "set_anomaly_enabled() got an unexpected keyword argument 'mode'"),
    ],
)
def test_set_detect_anomaly_accepts_only_bools(torch: Any, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError) as found:
        torch.set_anomaly_enabled(*args, **kwargs)
    assert str(found.value) == message
    assert not torch.is_anomaly_enabled()


def test_mode_costs_nothing_while_it_is_off() -> None:
    plain = node.Node.__init__.__code__, engine._route
    with model.autograd.set_detect_anomaly(True, check_nan=False):
        assert node.Node.__init__.__code__ is not plain[0]
        assert engine._route is plain[1]
        with model.autograd.set_detect_anomaly(True):
            assert engine._route is not plain[1]
    assert (node.Node.__init__.__code__, engine._route) == plain


def test_recording_can_begin_and_end_inside_the_mode() -> None:
    x = leaf(model)
    with model.autograd.set_detect_anomaly(True):
        with dispatchviz.record() as trace:
            y = made_here(x)
        z = made_here(x)
    assert [e.name for e in trace if isinstance(e, events.NodeCreated)] == [
        "ExpBackward0",
        "torch::autograd::AccumulateGrad",
    ]
    for made in (y, z):
        assert "made_here" in made.grad_fn.metadata["traceback_"][-1]
    assert made_here(x).grad_fn.metadata == {}


def test_found_anomaly_is_recorded() -> None:
    x = leaf(model)
    with model.autograd.set_detect_anomaly(True), dispatchviz.record() as trace:
        y = made_here(x)
        y.grad_fn.register_hook(lambda to, given: 1 // 0)
        with pytest.raises(ZeroDivisionError), pytest.warns(UserWarning, match="Error detected in ExpBackward0"):
            y.sum().backward()
    (found,) = of_kind(trace, events.AnomalyFound)
    assert "made_here(x)" in found.lines
    named = next(e.name for e in trace if isinstance(e, events.NodeCreated) and e.node == found.node)
    assert named == "ExpBackward0"


def test_program_starts_with_the_mode_off_and_leaves_it_unchanged() -> None:
    with model.autograd.set_detect_anomaly(True, check_nan=False):
        with clean_process_state():
            assert (anomaly_mode.is_enabled(), anomaly_mode.checks_nan()) == (False, True)
            anomaly_mode.set_enabled(True)
        assert (anomaly_mode.is_enabled(), anomaly_mode.checks_nan()) == (True, False)


def test_a_run_shows_the_programs_lines_only(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n\n\ndef f(x):\n    return x.exp()\n\n\n"
        "torch.autograd.set_detect_anomaly(True)\n"
        "y = f(torch.ones(2, requires_grad=True))\n"
        'print("".join(y.grad_fn.metadata["traceback_"]), end="")\n'
    )
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", str(tmp_path / "log.txt"), str(script)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == (
        f'  File "{script}", line 9, in <module>\n    y = f(torch.ones(2, requires_grad=True))\n'
        f'  File "{script}", line 5, in f\n    return x.exp()\n'
    )
