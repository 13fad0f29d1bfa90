"""Autocast: its policies against PyTorch's, the thread's keys, the casts and their cache, the trace of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.autocast import autocast_mode
from dispatchviz.core.layers.autocast.autocast_kernels import KERNELS
from dispatchviz.core.layers.autocast.autocast_policies import APPENDED, POLICIES, CastPolicy, policy_of
from dispatchviz.core.record import events
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.core.table.registry import process
from dispatchviz.core.thread.thread_state import State, thread
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.trace import Trace
from truth import records

pytestmark = pytest.mark.record("autocast_policies")

ROOT = Path(__file__).parents[2]
STORED: dict[str, Any] = records.read("autocast_policies")
KEYS = (DispatchKey.AutocastCPU, DispatchKey.AutocastCUDA)


@pytest.fixture(autouse=True)
def fresh_thread() -> Iterator[None]:
    before, thread.state = thread.state, State(thread.state.thread_id)
    autocast_mode.clear_cache()
    yield
    autocast_mode.clear_cache()
    thread.state = before


def excluded() -> int:
    """The thread-local exclude set, as a raw integer."""
    return torch._C._dispatch_tls_local_exclude_set().raw_repr()


def weight(device: str = "cpu") -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, device=device)


# -- policies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_every_operator_has_pytorchs_policy(key: DispatchKey) -> None:
    mine = {f"aten::{name}": policy.name for policy, names in POLICIES[key].items() for name in names}
    assert mine == STORED[key.name]
    assert len(mine) == sum(map(len, POLICIES[key].values())), "an operator has one policy"


@pytest.mark.long
@pytest.mark.parametrize("key", KEYS)
def test_the_tables_cover_the_operators_that_pytorch_registers(key: DispatchKey) -> None:
    registry = pytorch_registry("cpu")
    registered = {name for name in registry.names() if key in registry.find(name).registrations}
    assert registered == {f"aten::{name}" for name in KERNELS[key]}
    for name in KERNELS[key]:
        op = process.find(f"aten::{name}")
        assert op.table[op.cell_of(key)].kernel.function is KERNELS[key][name]


def test_overloads_with_a_dtype_exist() -> None:
    for name, other in APPENDED.items():
        arguments = [argument.type for argument in process.find(f"aten::{other}").schema.arguments]
        assert arguments[-1] == "ScalarType"
        assert len(arguments) == len(process.find(f"aten::{name}").schema.arguments) + 1


def test_policy_depends_on_operator_and_key() -> None:
    assert policy_of("mm", DispatchKey.AutocastCPU) is CastPolicy.lower_precision_fp
    assert policy_of("sum", DispatchKey.AutocastCPU) is None
    assert policy_of("sum", DispatchKey.AutocastCUDA) is CastPolicy.fp32_set_opt_dtype
    assert policy_of("mm", DispatchKey.CPU) is None


@pytest.mark.torch
@pytest.mark.pinned
def test_stored_policies_equal_pytorchs() -> None:
    pytest.importorskip("torch")
    check = [sys.executable, "-m", "truth.record", "--check", "autocast_policies"]
    found = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


# -- on and off --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "inside"),
    [("cpu", 0x1FF0000000000), ("cuda", 0x17F8000000000), ("xpu", 0x1FB8000000000), ("mps", 0x1BF8000000000)],
)
def test_autocast_removes_only_its_key_from_the_exclude_set(device: str, inside: int) -> None:
    assert excluded() == 0x1FF8000000000
    with torch.autocast(device):
        assert excluded() == inside
        assert torch.is_autocast_enabled(device)
        with torch.autocast(device, enabled=False):
            assert excluded() == 0x1FF8000000000
        assert excluded() == inside
    assert excluded() == 0x1FF8000000000
    assert not torch.is_autocast_enabled(device)


def test_a_guard_inside_does_not_outlive_autocast() -> None:
    torch.set_autocast_enabled("cpu", True)
    assert excluded() == 0x1FF0000000000
    torch.set_autocast_enabled("cpu", True)
    assert excluded() == 0x1FF0000000000
    torch.set_autocast_enabled("cpu", False)
    assert excluded() == 0x1FF8000000000


def test_error_in_autocast_restores_the_state() -> None:
    entered = torch.autocast("cpu", dtype=torch.float16, cache_enabled=False)

    @entered
    def fails() -> None:
        assert torch.get_autocast_dtype("cpu") is torch.float16
        assert not torch.is_autocast_cache_enabled()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert torch.is_autocast_cache_enabled()
    assert excluded() == 0x1FF8000000000


def test_deprecated_forms_warn_and_work() -> None:
    with pytest.warns(DeprecationWarning, match=r"Please use torch.set_autocast_enabled\('cpu', enabled\) instead"):
        torch.set_autocast_cpu_enabled(True)
    with pytest.warns(DeprecationWarning, match=r"Please use torch.is_autocast_enabled\('cpu'\) instead"):
        assert torch.is_autocast_cpu_enabled()
    with pytest.warns(DeprecationWarning, match=r"Please use torch.set_autocast_dtype\('cuda', dtype\) instead"):
        torch.set_autocast_gpu_dtype(torch.bfloat16)
    assert torch.get_autocast_dtype("cuda") is torch.bfloat16
    with pytest.warns(FutureWarning, match=r"torch.cuda.amp.autocast\(args...\)` is deprecated"):
        assert torch.cuda.amp.autocast().device == "cuda"


def test_each_thread_has_its_own_autocast() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with torch.autocast("cpu"), ThreadPoolExecutor(1) as pool:
        assert not pool.submit(torch.is_autocast_enabled, "cpu").result()


# -- cuda, as in a CUDA build ------------------------------------------------------------------------------------------


def test_cuda_casts_to_half() -> None:
    w = weight("cuda")
    with torch.autocast("cuda"):
        y = torch.mm(w, w)
        assert y.dtype is torch.float16
        assert y.exp().dtype is torch.float32
        assert y.sum().dtype is torch.float32
        assert y.sum(dtype=torch.float16).dtype is torch.float16
        assert (y**2).dtype is torch.float32
        assert torch.dot(y.view(4), w.view(4)).dtype is torch.float32
    y.sum().backward()
    assert w.grad.dtype is torch.float32


def test_autocast_for_cuda_ignores_cpu_tensors() -> None:
    with torch.autocast("cuda"):
        assert torch.mm(weight(), weight()).dtype is torch.float32
    with torch.autocast("cpu"):
        assert torch.mm(weight("cuda"), weight("cuda")).dtype is torch.float32


def test_error_of_a_banned_operator_names_an_alternative() -> None:
    x = torch.ones(2, device="cuda")
    with (
        torch.autocast("cuda"),
        pytest.raises(RuntimeError, match=r"are unsafe to autocast\.\nMany models use a sigmoid"),
    ):
        torch.ops.aten.binary_cross_entropy(x, x)


def test_kernel_without_our_function_raises_below_the_cast() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cpu"), pytest.raises(NotImplementedError) as caught:
        torch.ops.aten.fake_quantize_per_tensor_affine(x, 1.0, 0, 0, 255)
    assert "fake_quantize_per_tensor_affine" in str(caught.value)


# -- the cache ---------------------------------------------------------------------------------------------------------


def casts(program: Any) -> list[tuple[str, str]]:
    """(dtype, how) of each cast."""
    with dispatchviz.record() as trace:
        program()
    return [(event.after, event.how) for event in trace if isinstance(event, events.AutocastCast)]


def test_a_weight_is_cast_once() -> None:
    w, x = weight(), torch.ones(2, 2)
    with torch.autocast("cpu"):
        found = casts(lambda: torch.mm(torch.mm(x, w), w))
    assert [how for _, how in found] == ["cast and kept", "cast", "taken from the cache"]
    with torch.autocast("cpu"):
        assert casts(lambda: torch.mm(x, w))[0][1] == "cast and kept", "the outermost exit has cleared it"


def test_freed_leaf_is_not_found_in_the_cache() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cpu"), torch.inference_mode(False):
        for number in range(20):
            w = torch.tensor([[float(number)] * 2] * 2, requires_grad=True)
            assert torch.mm(x, w).tolist() == [[2.0 * number] * 2] * 2
            del w


def test_the_cache_keeps_the_first_dtype() -> None:
    w, x = weight(), torch.ones(2, 2)
    with torch.autocast("cpu"):
        torch.mm(x, w)
        with torch.autocast("cpu", dtype=torch.float16), pytest.raises(RuntimeError, match="expected m1 and m2"):
            torch.mm(x, w)


def test_program_starts_with_an_empty_cache() -> None:
    from dispatchviz.running.process_state import clean_process_state

    w, x = weight(), torch.ones(2, 2)
    with torch.autocast("cpu"):
        torch.mm(x, w)
        with clean_process_state():
            assert not torch.is_autocast_enabled("cpu")
            assert not autocast_mode._cached_casts
        assert len(autocast_mode._cached_casts) == 1


# -- the trace ---------------------------------------------------------------------------------------------------------


def traced() -> Trace:
    w, x = weight(), torch.ones(2, 2)
    with dispatchviz.record() as trace, torch.autocast("cpu"):
        torch.mm(torch.mm(x, w), w)
    return trace


def sentences(kind: type[events.Event]) -> list[str]:
    trace = traced()
    return [why_here(trace, event.seq) for event in trace if isinstance(event, kind)]


def test_call_chain_has_guard_casts_and_second_call() -> None:
    """The wrapper kernel, its guard, the casts below it, and the operator once more."""
    trace = traced()
    first = next(e for e in trace if isinstance(e, events.Dispatched) and e.operator == "aten::mm")
    assert (first.key, first.key_set) == ("AutocastCPU", 0x9000010001)
    kernel = next(e for e in trace if isinstance(e, events.KernelEntered) and e.parent == first.seq)
    assert kernel.file == "core/layers/autocast/autocast_kernels.py"
    guard = next(e for e in trace if isinstance(e, events.GuardEntered) and e.parent == kernel.seq)
    assert guard.guard == "ExcludeDispatchKeyGuard"
    assert guard.excluded & ~guard.excluded_before == 0x8000000000
    inside = [e.operator for e in trace if isinstance(e, events.Dispatched) and e.parent == guard.seq]
    assert inside == ["aten::to.dtype", "aten::to.dtype", "aten::mm"]
    assert [type(e) for e in trace if e.parent == guard.seq].count(events.AutocastCast) == 2


def test_autocast_events_have_these_sentences() -> None:
    on, off = sentences(events.AutocastChanged)
    assert on.startswith("Autocast for cpu is on, so AutocastCPU is no longer in the thread-local exclude set.")
    assert off.startswith("Autocast for cpu is off, so AutocastCPU is in the thread-local exclude set again")
    kept, cast, again = sentences(events.AutocastCast)
    assert "is a leaf that requires grad and is not a view, so autocast's cache keeps the result until" in kept
    assert "from float32 to bfloat16 and passes the result" in cast
    assert "uses share the Node of one cast" in again
    (cleared,) = sentences(events.AutocastCacheCleared)
    assert "drops one cached cast" in cleared
    assert any(
        "Its cast policy is lower_precision_fp: every floating-point argument on the device, except float64, is" in text
        for text in sentences(events.KernelEntered)
    )
    assert any("because autocast has already been handled" in text for text in sentences(events.GuardEntered))
