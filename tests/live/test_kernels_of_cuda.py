"""A CUDA build without a driver: the kernels of CUDA are watched from the first tensor that has its keys."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.live import watched_cells
from dispatchviz.live.installed_torch import installed_torch, may_have_cuda
from dispatchviz.running.engines import engine_named
from tests.live.both_engines import recorded

pytestmark = pytest.mark.torch

WRAPPER = """
import torch

class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, size):
        return torch.Tensor._make_wrapper_subclass(cls, size, device="cuda")

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return Wrapper(args[0].shape)

Wrapper((2,)).exp()
"""

FAKE = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode():
    x = torch.ones(2, 3, device="cuda")
    x @ x.T
"""

FACTORY = """
import torch

try:
    torch.ops.aten.ones.default([2], device="cuda")
except RuntimeError:
    pass
"""


@pytest.fixture(autouse=True)
def needs_a_build_without_a_driver() -> None:
    torch = installed_torch()
    if torch.version.cuda is None or may_have_cuda(torch):
        pytest.skip("needs a CUDA build without a driver")


def selected(program: str) -> list[tuple[str, str]]:
    """Record a program, and return operator and key of each kernel that was selected."""
    events = recorded(program, "torch").events
    return [(one.operator, one.key) for one in events if isinstance(one, ev.KernelSelected)]


@pytest.mark.parametrize(("program", "key"), [(WRAPPER, "AutogradCUDA"), (FAKE, "AutogradCUDA"), (FACTORY, "CUDA")])
def test_calls_for_cuda_are_seen_from_the_first_one(program: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    selected(program)  # FakeTensorMode keeps what it learns in the first run
    later = selected(program)
    monkeypatch.setattr(watched_cells, "may_have_cuda", lambda torch: True)
    from_the_start = selected(program)
    assert later == from_the_start
    assert key in [selected for _, selected in later]


def test_kernels_of_cuda_wait_while_all_tensors_are_on_the_cpu() -> None:
    engine = engine_named("torch")
    watch = engine.recorder()
    with engine.watching(watch):
        installed_torch().ones(2)
        assert watch.cells.waiting & watched_cells.CUDA
