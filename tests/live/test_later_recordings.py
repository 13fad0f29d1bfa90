"""Later recordings of an installed PyTorch in one process: kernels that were registered before and in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from warnings import catch_warnings, simplefilter

import pytest

import dispatchviz
from dispatchviz.live.early_kernels import EARLY, early_kernels_followed
from dispatchviz.testing import assert_kernel_ran, keys
from dispatchviz.trace import Trace

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def not_followed_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as in a process that follows no registrations. The plugin follows those of this session of pytest."""
    monkeypatch.setattr(EARLY, "followed", False)
    monkeypatch.setattr(EARLY, "known", {})


def first(x: Any) -> Any:
    return x + 1


def second(x: Any) -> Any:
    return x + 2


def _library(kernel: Callable[[Any], Any]) -> Any:
    """Return a library that registers a kernel, at the same place each time."""
    library = torch.library.Library("shared", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", kernel, "CPU")
    return library


def _recorded() -> tuple[Trace, float]:
    with dispatchviz.record(engine="torch") as trace:
        value = torch.ops.shared.f(torch.zeros(())).item()
    return trace, value


def test_kernel_that_is_registered_anew_is_the_one_that_runs() -> None:
    """PyTorch's dump is the same for both."""
    with early_kernels_followed():
        for kernel, expected in ((first, 1), (first, 1), (second, 2)):
            library = _library(kernel)
            try:
                trace, value = _recorded()
            finally:
                library._destroy()
            assert value == expected
            assert_kernel_ran(trace, kernel.__name__, under="CPU")
            assert keys(trace, "shared::f") == "AutogradCPU → CPU"
        assert not EARLY.known
    assert not EARLY.followed


def test_kernel_of_pytorch_that_is_replaced_is_seen() -> None:
    def ours(x: Any, y: Any, alpha: int = 1) -> Any:
        return x.clone()

    def added() -> tuple[Trace, float]:
        with dispatchviz.record(engine="torch") as trace:
            value = torch.add(torch.ones(()), torch.ones(())).item()
        return trace, value

    for _ in range(2):
        assert added()[1] == 2
    with early_kernels_followed(), torch.library._scoped_library("aten", "IMPL") as library, catch_warnings():
        simplefilter("ignore")  # PyTorch warns of the first replaced kernel of a process
        library.impl("add.Tensor", ours, "CPU")
        trace, value = added()
    assert value == 1
    assert_kernel_ran(trace, "ours", under="CPU")
    assert added()[1] == 2


def test_recording_leaves_no_kernel_behind() -> None:
    before = torch._C._dispatch_dump("aten::mul.Tensor")
    for _ in range(2):
        with dispatchviz.record(engine="torch"):
            torch.ones(2) * 2
        assert torch._C._dispatch_dump("aten::mul.Tensor") == before


def test_following_ends_with_its_block() -> None:
    before = torch.library.Library.impl, torch._C._DispatchModule.reset
    with early_kernels_followed():
        followed = torch.library.Library.impl
        assert followed is not before[0]
        with early_kernels_followed():
            assert torch.library.Library.impl is followed
        assert EARLY.followed
    assert (torch.library.Library.impl, torch._C._DispatchModule.reset) == before
