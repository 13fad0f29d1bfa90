"""A process without a CUDA device: ``--cuda none``, ``DISPATCHVIZ_CUDA=none``, ``CUDA_VISIBLE_DEVICES=``."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.device.array_library import cuda_state, state_under
from dispatchviz.core.device.visible_devices import VARIABLE
from tests.cuda_kinds import cuda_is

CHOOSES_A_DEVICE = """\
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.ones(2, device=device)
"""


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles"])
def test_the_variable_hides_the_device_until_cuda_is_used(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    with cuda_is("auto"):
        monkeypatch.setenv(VARIABLE, value)
        assert not torch.cuda.is_available()
        assert torch.cuda.device_count() == 0
        with pytest.raises(RuntimeError, match=r"^No CUDA GPUs are available$"):
            torch.zeros(1, device="cuda")
        monkeypatch.setenv(VARIABLE, "0,1")
        assert torch.cuda.device_count() == 1
        assert not torch.cuda.is_initialized()
        torch.zeros(1, device="cuda")
        assert torch.cuda.is_initialized()
        monkeypatch.setenv(VARIABLE, value)
        assert torch.zeros(1, device="cuda").is_cuda


def test_a_choice_is_stronger_than_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with cuda_is("emulated"):
        assert torch.zeros(1, device="cuda").is_cuda


def test_a_command_leaves_the_choice_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPATCHVIZ_CUDA", "none")
    with cuda_is("auto"):
        assert not torch.cuda.is_available()
    with cuda_is("emulated"):
        assert torch.cuda.is_available()


def test_the_header_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(state_under("none")) == "none (requested)"
    monkeypatch.setenv(VARIABLE, "")
    assert str(state_under("auto")) == "none (CUDA_VISIBLE_DEVICES names no device)"
    assert str(state_under("emulated")) == "emulated on NumPy (requested)"


def test_the_dispatch_table_is_that_of_the_build() -> None:
    """No device is no other build: the kernels of CUDA are registered, and nobody calls them."""
    with cuda_is("none"), dispatchviz.record() as trace:
        assert torch._C._dispatch_has_computed_kernel_for_dispatch_key("aten::add.Tensor", "CUDA")
        assert torch.backends.cuda.is_built()
        assert trace.header.cuda == "none (requested)"


def test_a_program_that_asks_takes_the_cpu() -> None:
    names: dict[str, object] = {"__builtins__": __builtins__}
    with cuda_is("none"):
        exec(CHOOSES_A_DEVICE.replace("import torch\n", "from dispatchviz import torch\n"), names)
        assert not cuda_state().present
    assert str(names["x"].device) == "cpu"  # type: ignore[attr-defined]
