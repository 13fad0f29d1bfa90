"""``torch.accelerator`` and the current device: one CUDA device on every machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dispatchviz import torch


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
def test_there_is_no_other(choose: Callable[[int], object]) -> None:
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        choose(1)
