"""Modes, subclasses and the program's registrations in a recording of an installed PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dispatchviz.cli.check_runs import two_runs
from dispatchviz.core.record import events as ev
from dispatchviz.running.program_source import Code
from dispatchviz.trace import Trace

from .both_engines import on_both, recorded

pytestmark = pytest.mark.torch

HANDLERS = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode

class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls(func(*[getattr(arg, "held", arg) for arg in args], **(kwargs or {})))

class Special(Wrapper):
    pass

x = torch.ones(2, requires_grad=True)
w, s = Wrapper(torch.ones(2)), Special(torch.ones(2))
with Mode():
    with Mode():
        y = torch.add(x, x, alpha=2)
    z = w * w
total = torch.add(w, s)
"""
REGISTERED = """
import torch
library = torch.library.Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")

def first(x):
    return x + x

library.impl("twice", first, "CPU")
a = torch.ops.mine.twice(torch.ones(2))
again = torch.library.Library("mine", "FRAGMENT")
again.impl("twice", lambda x: x * 2, "CPU")
b = torch.ops.mine.twice(torch.ones(2))
again._destroy()
c = torch.ops.mine.twice(torch.ones(2))
"""
OTHER_DEVICE = """
import torch
library = torch.library.Library("other_device", "DEF")
library.define("twice(Tensor x) -> Tensor")

def on_cpu(x):
    torch.ops.other_device.twice(x.to("meta"))
    return x * 2

def of_autograd(keys, x):
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.other_device.twice.default.redispatch(keys & torch._C._after_autograd_keyset, x)

library.impl("twice", on_cpu, "CPU")
library.impl("twice", lambda x: torch.empty_like(x), "Meta")
library.impl("twice", of_autograd, "Autograd", with_keyset=True)
torch.ops.other_device.twice(torch.ones(2))
"""
LIBRARY = """
import torch
library = torch.library.Library("imported", "DEF")
library.define("thrice(Tensor x) -> Tensor")
library.impl("thrice", lambda x: x * 3, "CPU")
"""
IMPORTING = """
import torch
import library_of_a_test
library = torch.library.Library("importing", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x + x, "CPU")
"""


def told(trace: Trace, *kinds: type[ev.Event]) -> Iterator[dict[str, Any]]:
    for step in (step for event in kinds for step in trace.steps_of(event)):
        fields = msgspec.structs.asdict(trace[step])
        yield {name: value for name, value in fields.items() if name not in ("seq", "parent")}


def test_handlers_are_recorded_as_in_the_model() -> None:
    found = two_runs(Code(HANDLERS), ())
    assert found.same
    entered = [list(told(trace, ev.TorchDispatchEntered)) for trace in (found.torch, found.model)]
    names = ("kind", "handler", "function", "types", "included", "excluded", "modes_left")
    ours, theirs = ([tuple(one[name] for name in names) for one in rows] for rows in entered)
    assert ours == theirs
    assert {one[1] for one in ours} == {"Mode", "Wrapper", "Special"}


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_kernels_have_the_names_of_their_functions() -> None:
    found = on_both(REGISTERED)
    assert found.same
    rows = [list(told(trace, ev.OperatorDefined, ev.KernelRegistered)) for trace in (found.torch, found.model)]
    assert rows[0] == rows[1]
    selected = [one["kernel"] for one in told(found.torch, ev.KernelSelected) if one["operator"] == "mine::twice"]
    assert [name for name in selected if name != "autograd_fallback"] == ["first", "<lambda> at <string>:12", "first"]


def test_a_kernel_of_pythons_that_calls_its_own_operator_for_another_device_does_not_redispatch() -> None:
    found = on_both(OTHER_DEVICE)
    assert found.same
    rows = [one for one in told(found.torch, ev.Dispatched) if one["operator"] == "other_device::twice"]
    assert [(one["how"], one["key"]) for one in rows] == [
        ("call", "AutogradCPU"),
        ("redispatch", "CPU"),
        ("call", "Meta"),
    ]


def test_registrations_of_an_imported_library_are_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "library_of_a_test.py").write_text(LIBRARY)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    rows = told(recorded(IMPORTING, "torch"), ev.OperatorDefined, ev.KernelRegistered)
    assert sys.modules.pop("library_of_a_test", None) is not None
    assert {one["operator"] for one in rows} == {"importing::twice"}
