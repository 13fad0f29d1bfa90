"""The current device, processes without a CUDA device, and the choice of the attention kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.device.array_library import VARIABLE, cuda_state, state_under
from dispatchviz.torch.nn.attention import SDPBackend, sdpa_kernel
from dispatchviz.torch.nn.attention.bias import causal_lower_right, causal_upper_left
from tests.cuda_kinds import cuda_is


def _within(index: int) -> None:
    with torch.cuda.device(index):
        pass


def test_the_accelerator_is_cuda() -> None:
    device = torch.accelerator.current_accelerator()
    assert (device, device.type, device.index) == (torch.device("cuda"), "cuda", None)
    assert torch.zeros(1, device=device).device == torch.device("cuda:0")
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == torch.cuda.device_count() == 1


def test_the_one_device_is_current() -> None:
    torch.accelerator.set_device_index(0)
    with torch.cuda.device("cuda"):
        assert torch.accelerator.current_device_index() == torch.cuda.current_device() == 0
    assert torch.accelerator.current_stream() == torch.cuda.current_stream()


@pytest.mark.parametrize("choose", [torch.accelerator.set_device_index, torch.cuda.set_device, _within])
def test_choosing_a_second_device_raises(choose: Callable[[int], object]) -> None:
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        choose(1)


attention = torch.nn.functional.scaled_dot_product_attention
Q = torch.arange(8.0).view(1, 1, 2, 4) / 10
K = torch.arange(12.0).view(1, 1, 3, 4) / 10


def test_attention_without_the_fused_kernel_is_differentiated_by_products() -> None:
    q = Q.clone().requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        by_products = attention(q, K, K)
    fused = attention(q, K, K)
    assert torch.allclose(by_products, fused)
    names = by_products.grad_fn.name(), fused.grad_fn.name()
    assert names == ("UnsafeViewBackward0", "ScaledDotProductFlashAttentionForCpuBackward0")


def test_attention_without_any_allowed_kernel_raises() -> None:
    with pytest.raises(RuntimeError, match="No viable backend"), sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        attention(Q, K, K)
    assert attention(Q, K, K).shape == (1, 1, 2, 4)


def test_causal_biases_give_the_result_of_is_causal() -> None:
    assert torch.equal(attention(Q, K, K, causal_upper_left(2, 3)), attention(Q, K, K, is_causal=True))
    seen = torch.tensor([[True, True, False], [True, True, True]])
    assert torch.equal(attention(Q, K, K, causal_lower_right(2, 3)), attention(Q, K, K, seen))
    assert repr(causal_lower_right(2, 3)) == repr(seen)


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


def test_a_choice_in_code_overrides_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with cuda_is("emulated"):
        assert torch.zeros(1, device="cuda").is_cuda


def test_a_command_leaves_the_choice_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPATCHVIZ_CUDA", "none")
    with cuda_is("auto"):
        assert not torch.cuda.is_available()
    with cuda_is("emulated"):
        assert torch.cuda.is_available()


def test_the_header_says_why_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(state_under("none")) == "none (requested)"
    monkeypatch.setenv(VARIABLE, "")
    assert str(state_under("auto")) == "none (CUDA_VISIBLE_DEVICES names no device)"
    assert str(state_under("emulated")) == "emulated on NumPy (requested)"


def test_cuda_kernels_stay_registered_without_a_device() -> None:
    """A process without a device still uses the CUDA build: the kernels of CUDA are registered but never called."""
    with cuda_is("none"), dispatchviz.record() as trace:
        assert torch._C._dispatch_has_computed_kernel_for_dispatch_key("aten::add.Tensor", "CUDA")
        assert torch.backends.cuda.is_built()
        assert trace.header.cuda == "none (requested)"


def test_a_program_that_checks_availability_runs_on_the_cpu() -> None:
    names: dict[str, object] = {"__builtins__": __builtins__}
    with cuda_is("none"):
        exec(CHOOSES_A_DEVICE.replace("import torch\n", "from dispatchviz import torch\n"), names)
        assert not cuda_state().present
    assert str(names["x"].device) == "cpu"  # type: ignore[attr-defined]
