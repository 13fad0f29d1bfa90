"""Functionalization beyond the recorded programs: chains of key sets, storages, lifetimes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functionalization import functional_wrapper as wrapper
from dispatchviz.core.layers.functionalization.functional_wrapper import functional_wrapper
from dispatchviz.core.layers.functionalization.functionalize_kernels import kernels
from dispatchviz.core.layers.functionalization.view_meta import VIEWS, ViewMeta
from dispatchviz.core.record import events as ev
from dispatchviz.core.table.registry import process


@pytest.fixture
def custom() -> Iterator[Any]:
    """An operator that has a kernel for the CPU and nothing else."""
    library = torch.library.Library("functionalization_test", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.clone(), "CPU")
    yield torch.ops.functionalization_test.f.default
    library._destroy()


def functional(*values: float) -> Any:
    return torch._to_functional_tensor(torch.tensor(values))


def test_a_custom_operator_runs_autograd_twice(custom: Any) -> None:
    """Reference section 10.11: the full call below Functionalize starts at the top again."""
    f = functional(1.0, 2.0)
    with dispatchviz.record() as trace:
        custom(f)
    chain = [e for e in trace if isinstance(e, ev.Dispatched) and e.operator == "functionalization_test::f"]
    assert [(e.how, str(e.key), e.key_set) for e in chain] == [
        ("callBoxed", "AutogradCPU", 0x1040010001),
        ("redispatchBoxed", "Functionalize", 0x40010001),
        ("callBoxed", "AutogradCPU", 0x1000010001),
        ("redispatchBoxed", "CPU", 0x10001),
    ]
    nested = [sum(isinstance(a, ev.Dispatched) for a in trace.ancestors(e.seq)) for e in chain]
    assert nested == [0, 1, 2, 3]
    guards = [e.guard for e in trace if isinstance(e, ev.GuardEntered)]
    assert guards[0] == "AutoDispatchSkipFunctionalize"


def test_a_wrapper_has_its_values_keys_and_functionalize() -> None:
    assert functional(1.0)._ks == 0x9440010001
    assert torch._to_functional_tensor(torch.tensor([1j]).conj())._ks == 0x94C0010001
    with torch.inference_mode():
        assert functional(1.0)._ks == 0x8040010001


def test_a_number_is_not_wrapped() -> None:
    f = functional(1.0)
    number = torch._from_functional_tensor(f * 2)
    assert number._array.tolist() == [2.0]


def test_update_is_applied_on_the_next_read() -> None:
    f = functional(1.0, 2.0, 3.0, 4.0)
    row = f.view(2, 2)
    row.mul_(10)
    storage = functional_wrapper(f).storage
    assert functional_wrapper(f).generation < storage.generation
    assert torch._from_functional_tensor(f).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert torch._from_functional_tensor(f + 0).tolist() == [10.0, 20.0, 30.0, 40.0]
    assert functional_wrapper(f).generation == storage.generation
    assert storage.updates == []


def test_the_memory_that_was_wrapped_is_never_written() -> None:
    x = torch.tensor([1.0, 2.0])
    f = torch._to_functional_tensor(x)
    f.view(2, 1).add_(1)
    f.mul_(3)
    torch._sync(f)
    assert x.tolist() == [1.0, 2.0]
    assert torch._from_functional_tensor(f).tolist() == [6.0, 9.0]


def test_views_can_be_taken_as_views() -> None:
    torch._enable_functionalization(reapply_views=True)
    try:
        f = torch.tensor([1.0, 2.0, 3.0, 4.0])
        v = f.view(2, 2).t()
        assert functional_wrapper(v).value._storage is functional_wrapper(f).value._storage
        v.add_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    finally:
        torch._disable_functionalization()
    torch._sync(f)
    assert torch._from_functional_tensor(f).tolist() == [2.0, 5.0, 5.0, 8.0]


def test_enabling_twice_is_refused() -> None:
    torch._enable_functionalization()
    try:
        with pytest.raises(RuntimeError, match="multiple layers of mode-style functionalization"):
            torch._enable_functionalization()
    finally:
        torch._disable_functionalization()
    assert torch._C._dispatch_tls_local_include_set().raw_repr() == 0x404000000


def test_resize_replaces_or_views_the_storage() -> None:
    f = functional(1.0, 2.0)
    torch.ops.aten.resize_(f, [1])
    assert (f.shape, torch._from_functional_tensor(f).tolist()) == ((1,), [1.0])
    g = functional(1.0, 2.0)
    torch.ops.aten.resize_(g, [4])
    assert functional_wrapper(g).value._size == (4,)
    h = functional(1.0, 2.0)
    view = h.view(2, 1)
    with pytest.raises(RuntimeError, match="Attempted to resize a view tensor to a larger size"):
        torch.ops.aten.resize_(h, [4])
    assert view.shape == (2, 1)


@pytest.mark.parametrize(
    "write",
    [lambda x, f: x.add_(f), lambda x, f: torch.add(f, f, out=x), lambda x, f: x.copy_(f)],
    ids=["in place", "out", "copy_"],
)
def test_writing_a_wrapper_to_a_plain_tensor_is_refused(write: Any) -> None:
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor is not allowed"):
        write(torch.tensor([0.0, 0.0]), functional(1.0, 2.0))


def test_plain_tensors_pass_through_while_it_is_enabled() -> None:
    x = torch.tensor([1.0, 2.0])
    torch._enable_functionalization()
    try:
        x.add_(1)
        y = x.view(2, 1)
        x.t_()
        torch.exp(x, out=x)
    finally:
        torch._disable_functionalization()
    assert not torch._is_functional_tensor(y)
    assert x._version == 3
    assert y._view is not None


def test_plain_tensor_is_refused_as_a_wrapper() -> None:
    x = torch.tensor([1.0])
    for function in (torch._from_functional_tensor, torch._sync, torch._is_functional_tensor_base):
        with pytest.raises(RuntimeError, match="INTERNAL ASSERT FAILED"):
            function(x)
    with pytest.raises(RuntimeError, match=r"isFunctionalTensor\(base_\) INTERNAL ASSERT FAILED"):
        torch._to_functional_tensor(functional(1.0))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        torch._to_functional_tensor(1)


def test_the_error_of_an_in_place_operator_comes_before_anything_changes() -> None:
    f = functional(1.0, 2.0)
    with pytest.raises(RuntimeError):
        f.add_(torch.tensor([1.0, 2.0, 3.0]))
    assert functional_wrapper(f).storage.generation == 0
    assert f._version == 0


def test_result_of_another_dtype_is_cast_back() -> None:
    f = functional(1.0, 2.0)
    wrapper.replace_(f, torch.tensor([3, 4]))
    assert (f.dtype, torch._from_functional_tensor(f).dtype) == (torch.float32, torch.float32)


def test_a_recording_keeps_no_value_alive() -> None:
    with dispatchviz.record() as trace:
        f = functional(1.0, 2.0)
        g = f + 1
        value = weakref.ref(functional_wrapper(g).value)
        del f, g
        gc.collect()
        assert value() is None
    assert len(trace)


def test_every_view_can_be_undone() -> None:
    """The table has an inverse and a copying operator for each, and PyTorch has both kernels."""
    for name, (copying, _) in VIEWS.items():
        assert DispatchKey.Functionalize in process.find(f"aten::{name}").registrations
        assert process.find(f"aten::{copying}").has_schema


def test_kernels_have_the_same_keys_as_pytorchs() -> None:
    missing = [n for n in kernels() if DispatchKey.Functionalize not in process.find(f"aten::{n}").registrations]
    assert missing == []


def test_view_meta_can_be_replayed_and_inverted() -> None:
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    meta = ViewMeta("select.int", (0, 1), reapply_views=True)
    assert meta.forward(base).tolist() == [3.0, 4.0]
    assert meta.reverse(base, torch.tensor([7.0, 8.0])).tolist() == [[1.0, 2.0], [7.0, 8.0]]
    assert base.tolist() == [[1.0, 2.0], [3.0, 4.0]]
