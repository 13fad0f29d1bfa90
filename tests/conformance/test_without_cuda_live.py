"""Programs on a machine without CUDA get the answers of a CPU build of PyTorch, or of a CUDA build that finds no
device, which differ in one sentence.
"""

from __future__ import annotations

import os
import re
import warnings
from types import ModuleType

import pytest

from dispatchviz.core.device.array_library import VARIABLE, names_a_device
from tests.cuda_kinds import cuda_is

torch = pytest.importorskip("torch")

NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled"
NO_DEVICE = "RuntimeError: No CUDA GPUs are available"
NO_DRIVER = re.compile(r"RuntimeError: Found no NVIDIA driver on your system\..*", re.DOTALL)

if_cpu_build = pytest.mark.skipif(torch.version.cuda is not None, reason="PyTorch is a CUDA build")

QUESTIONS = (
    *(f"torch.cuda.{name}()" for name in ("is_available", "device_count", "is_initialized", "init", "current_device")),
    *(f"torch.cuda.{name}()" for name in ("get_device_name", "get_device_capability", "synchronize", "empty_cache")),
    *(f"torch.cuda.{name}()" for name in ("memory_allocated", "max_memory_reserved", "memory_stats", "mem_get_info")),
    *(f"torch.cuda.{name}()" for name in ("ipc_collect", "seed", "initial_seed", "get_rng_state")),
    *(f"torch.cuda.{name}()" for name in ("get_rng_state_all", "is_bf16_supported", "current_stream")),
    *("torch.cuda.get_device_properties(0)", "torch.cuda.manual_seed(0)", "torch.cuda.manual_seed_all(0)"),
    *("torch.cuda.can_device_access_peer(0, 1)", "torch.cuda.set_device(-1)", "torch.cuda.default_stream()"),
    *(f"torch.{name}(2, device='cuda')" for name in ("zeros", "rand", "arange", "empty", "tensor", "as_tensor")),
    *(f"torch.ones(1).{call}" for call in ("cuda()", "to('cuda')", "to(torch.device('cuda'), torch.float64)")),
    *("torch.zeros_like(torch.ones(1), device='cuda')", "torch.ones(1).new_zeros(1, device='cuda:0')"),
    *("torch.nn.Linear(1, 1).to('cuda')", "torch.nn.Linear(1, 1, device='cuda')", "torch.device('cuda')"),
    *("torch.empty_strided((1,), (1,), device='cuda')", "torch.cuda.set_per_process_memory_fraction(0.5)"),
    *("torch.accelerator.is_available()", "torch.accelerator.device_count()"),
    "torch.accelerator.current_accelerator(check_available=True)",
    *("torch.autocast('cuda')._enabled", "torch.cuda.amp.GradScaler().is_enabled()"),
    *("torch.amp.GradScaler('cuda').is_enabled()", "torch.backends.cudnn.enabled"),
    "next(iter(torch.utils.data.DataLoader([1, 2], pin_memory=True)))",
)
OF_THE_BUILD = (
    *("torch.backends.cuda.is_built()", "torch.backends.cudnn.is_available()", "torch.cuda.FloatTensor(1)"),
    *("torch.accelerator.current_accelerator()", "torch.accelerator.current_device_index()"),
    *("torch.accelerator.synchronize()", "torch.cuda.get_arch_list()", "torch.version.cuda"),
)
"""Questions that a CUDA build answers differently."""


def answer(torch: ModuleType, question: str) -> tuple[str, list[str]]:
    """Return the value or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = repr(eval(question, {"torch": torch}))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    texts = [str(each.message).splitlines()[0] for each in given]
    return found, [text for text in texts if "deprecated" not in text]


@pytest.fixture
def cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPATCHVIZ_BUILD", "cpu")


@if_cpu_build
@pytest.mark.parametrize("question", [*QUESTIONS, *OF_THE_BUILD])
def test_a_build_for_the_cpu_answers_as_pytorch(cpu_build: None, question: str) -> None:
    from dispatchviz import torch as model

    assert answer(model, question) == answer(torch, question)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_without_a_device_fail_as_in_a_cpu_build(question: str) -> None:
    from dispatchviz import torch as model

    found, warned = answer(torch, question)
    with cuda_is("none"):
        expected = NO_DRIVER.sub(NO_DEVICE, found.replace(NOT_COMPILED, NO_DEVICE))
        assert answer(model, question) == (expected, warned)


VALUES = ("", " ", "-1", "0", "1", "0,1", "1,0", "0,0", "0,1,0", "0,-1,0", "-1,0", "+0", "1gpu2,2ampere", "x", "0,x")
VALUES += ("NoDevFiles", "all", "GPU-1", "GPU-1,GPU-1", "GPU-1,GPU-2", "GPU-1,0", "MIG-1", "MIG-1,MIG-1", "0,GPU-1")


@pytest.mark.parametrize("value", [None, *VALUES])
def test_the_variable_names_a_device_as_pytorch_reads_it(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert names_a_device(os.environ.get(VARIABLE)) == bool(torch.cuda._parse_visible_devices())
