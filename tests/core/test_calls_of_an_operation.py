"""The number of Python functions that one operation passes through: ``torch.add(x, y)`` as in ``examples/forum.py``.

A call is a "call" event of ``sys.setprofile`` between the program's line and the return: functions, lambdas,
comprehensions (Python 3.11 makes frames of them) and each resumption of a generator. Functions in C do not count. The
same operation ran before on another line, so that nothing is looked up for the first time, and its result is gone, so
that the call creates an AccumulateGrad.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.device.array_library import choose_cuda


def calls_of(action: Callable[[], object]) -> list[CodeType]:
    """The code of each Python function that an action calls."""
    calls: list[CodeType] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls[1:]  # without the action


x = y = torch.empty(0)


def make_tensors() -> None:
    global x, y
    device = torch.device("cuda")
    x = torch.randn(2, 2).to(device)
    y = torch.randn(2).to(device)
    x.requires_grad_(True)


def add() -> None:
    torch.add(x, y)


def add_on_another_line() -> None:
    torch.add(x, y)


def measured() -> list[list[str]]:
    """The ``FILE FUNCTION`` of each call: unrecorded, then recorded."""
    choose_cuda("emulated")
    make_tensors()
    add()
    plain = calls_of(add_on_another_line)
    with dispatchviz.record():
        add()
        recorded = calls_of(add_on_another_line)
    return [[f"{code.co_filename} {code.co_qualname}" for code in calls] for calls in (plain, recorded)]


def test_an_operation_takes_36_calls_and_60_while_it_is_recorded() -> None:
    """Count them in a new process, since modes that another test has used may leave a longer path."""
    command = [sys.executable, "-m", "tests.core.test_calls_of_an_operation"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    plain, recorded = json.loads(done.stdout)
    assert len(plain) <= 36, "\n".join(plain)
    assert len(recorded) <= 60, "\n".join(recorded)
    assert len({call.split()[0] for call in recorded}) <= 20, "\n".join(recorded)


if __name__ == "__main__":
    print(json.dumps(measured()))
