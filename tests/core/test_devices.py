"""Devices: the array library that is found, and devices that do not exist."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz import torch
from tests.installed_cupy import STAND_IN, install

ROOT = Path(__file__).parents[2]


def output_of(folder: Path, code: str = "", flags: tuple[str, ...] = ()) -> str:
    """The output of a process that imports from a folder first."""
    code = code or "from dispatchviz.core.device import array_library as a; f, why = a.detect(); print(bool(f), why)"
    path = os.pathsep.join([str(folder), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, *flags, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_working_cupy_is_used(tmp_path: Path) -> None:
    install(tmp_path)
    assert output_of(tmp_path) == "True stand-in"
    header = (
        "import dispatchviz.torch as torch, dispatchviz\nwith dispatchviz.record() as t: torch.ones(1).to('cuda')\n"
    )
    assert output_of(tmp_path, f"{header}print(t.header.cuda)") == "CuPy on stand-in"


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there is a CuPy here")
def test_missing_cupy_emulates_cuda(tmp_path: Path) -> None:
    assert output_of(tmp_path) == "False CuPy is not installed"


BROKEN = {
    "raise ImportError('libcuda.so.1: cannot open shared object file\\nmore')": (
        "CuPy does not work here: ImportError: libcuda.so.1: cannot open shared object file"
    ),
    "raise RuntimeError": "CuPy does not work here: RuntimeError",
    "is_available = lambda: False": "no usable GPU",
    "pass": "CuPy does not work here: AttributeError: module 'cupy' has no attribute 'is_available'",
    f"{STAND_IN}\ndef ones(n): raise OSError('cudaErrorInsufficientDriver')\ncupy.ones = ones": (
        "CuPy does not work here: OSError: cudaErrorInsufficientDriver"
    ),
    f"{STAND_IN}\ncupy.ones = cupy.zeros": "CuPy does not work here: 1 + 1 is 0",
}


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("flags", [(), ("-O",)], ids=["", "-O"])
def test_broken_cupy_has_a_reason(text: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    install(tmp_path, text)
    assert output_of(tmp_path, flags=flags) == f"False {BROKEN[text]}"


def test_installed_cupy_is_tried_by_default() -> None:
    """This process and a new one give the same answer."""
    from dispatchviz.core.device.array_library import detect

    module, reason = detect()
    assert output_of(ROOT) == f"{module is not None} {reason}"


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


def test_device_types_without_a_guard_are_not_linked() -> None:
    with pytest.raises(NotImplementedError, match="Could not run 'aten::empty"):
        torch.ones(1, device="mps")
    with pytest.raises(RuntimeError, match="PyTorch is not linked with support for mps devices"):
        torch.ones(1).to("mps")


def test_missing_device_index_is_an_error() -> None:
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
