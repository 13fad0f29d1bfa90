"""Devices that are not there: a CUDA device with another number, types that the build was not made for."""

from __future__ import annotations

import pytest

from dispatchviz import torch

NOT_COMPILED = {
    "xpu": (AssertionError, "Torch not compiled with XPU enabled"),
    "mtia": (AssertionError, "Torch not compiled with MTIA enabled. Ensure you have "),
    "hpu": (ModuleNotFoundError, "No module named 'torch.hpu'"),
    "privateuseone": (ModuleNotFoundError, "No module named 'torch.privateuseone'"),
}


@pytest.mark.parametrize("device", NOT_COMPILED)
def test_a_type_that_needs_a_module_is_refused_before_an_operator_is_called(device: str) -> None:
    error, text = NOT_COMPILED[device]
    one = torch.ones(1)
    for call in (
        lambda: torch.ones(1, device=device),
        lambda: torch.tensor([1.0], device=device),
        lambda: torch.as_tensor(one, device=device),
        lambda: torch.zeros_like(one, device=device),
        lambda: one.new_zeros(1, device=device),
        lambda: one.to(device),
    ):
        with pytest.raises(error) as raised:
            call()
        assert str(raised.value).startswith(text)
    with torch.device(device), pytest.raises(error):
        torch.ones(1)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::empty"):
        torch.ops.aten.empty([1], device=torch.device(device))


def test_other_types_are_not_linked() -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'aten::empty"):
        torch.ones(1, device="mps")
    with pytest.raises(RuntimeError, match="PyTorch is not linked with support for mps devices"):
        torch.ones(1).to("mps")


def test_an_ordinal_that_no_device_has() -> None:
    for call in (
        lambda: torch.ones(1, device="cuda:7"),
        lambda: torch.ones(1).to("cuda:3"),
        lambda: torch.cuda.set_device(7),
        lambda: torch.cuda.device(9).__enter__(),
        lambda: torch.cuda.Stream(device=1),
    ):
        with pytest.raises(torch.AcceleratorError) as raised:
            call()
        assert str(raised.value) == (
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
            "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
        )
        assert raised.value.error_code == 101
    assert torch.cuda.device(9).idx == 9
    assert issubclass(torch.AcceleratorError, RuntimeError)
    assert torch.AcceleratorError.__module__ == "torch"
