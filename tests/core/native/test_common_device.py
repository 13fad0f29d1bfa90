"""Tensors of several devices in one call: the wrapper or kernel that refuses them, and the message of PyTorch with a
GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.call.common_device import check_common_device
from dispatchviz.core.record import events as ev
from dispatchviz.core.tensor.tensor import Tensor
from tests.cuda_kinds import CUDA_KINDS, cuda_is

BY_A_WRAPPER = {
    "torch.mm(c, g)": ("mat2", "cuda:0", "cpu", "mm"),
    "g @ c": ("mat2", "cpu", "cuda:0", "mm"),
    "torch.addmm(c, g, g)": ("mat1", "cuda:0", "cpu", "addmm"),
    "torch.bmm(c[None], g[None])": ("mat2", "cuda:0", "cpu", "bmm"),
    "torch.mv(c, g[0])": ("mat", "cpu", "cuda:0", "addmv_"),
    "torch.dot(c[0], g[0])": ("tensor", "cuda:0", "cpu", "_dot"),
    "torch.cat([c, g])": ("tensors", "cuda:0", "cpu", "cat"),
    "torch.stack([g, c])": ("tensors", "cpu", "cuda:0", "cat"),
    "F.linear(g, c)": ("mat2", "cpu", "cuda:0", "mm"),
    "F.linear(g, g, c[0])": ("mat1", "cuda:0", "cpu", "addmm"),
    "F.embedding(i, g)": ("index", "cpu", "cuda:0", "_index_select"),
    "torch.gather(g, 0, i[None])": ("index", "cpu", "cuda:0", "gather"),
    "g.index_select(0, i)": ("index", "cpu", "cuda:0", "_index_select"),
    "g.scatter(0, i[None], c)": ("index", "cpu", "cuda:0", "scatter_src"),
    "F.cross_entropy(g, torch.tensor([0, 1]))": ("target", "cpu", "cuda:0", "nll_loss_forward"),
    "F.batch_norm(g, c[0], c[0], training=True)": ("running_mean", "cpu", "cuda:0", "_native_batch_norm"),
    "F.layer_norm(g, (2,), c[0])": ("weight", "cpu", "cuda:0", "_native_layer_norm"),
    "torch.clamp(g, c)": ("min", "cpu", "cuda:0", "clamp_Tensor"),
    "torch.equal(c, g)": ("other", "cuda:0", "cpu", "_equal"),
    "torch.einsum('ij,jk', c, g)": ("mat2", "cuda:0", "cpu", "bmm"),
    "F.prelu(g, c[0][:1])": ("weight", "cpu", "cuda:0", "__prelu_kernel"),
    "torch.linalg.cross(torch.ones(3), torch.ones(3, device='cuda'))": ("other", "cuda:0", "cpu", "linalg_cross"),
}
"""The argument, its device, the device of the arguments before it, and the wrapper."""

TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
BY_A_KERNEL = {
    "c[i.cuda()]": "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    "g.masked_fill(c > 0, 1)": "expected self and mask to be on the same device, but got mask on cpu and self on "
    "cuda:0",
    "c.masked_fill_(g > 0, 1)": "expected self and mask to be on the same device, but got mask on cuda:0 and self on "
    "cpu",
    "c.masked_fill_(g > 0, s)": "masked_fill_: Expected inputs to be on same device",
    "g.masked_fill(g, 1)": "masked_fill only supports boolean masks, but got dtype Float",
    "g.index_put((i,), c[0], accumulate=True)": "expected device cuda:0 but got device cpu for value tensor",
    "g.index_put((i,), c[0])": TWO_DEVICES,
    "c + g": TWO_DEVICES,
    "torch.add(g, g, out=c)": TWO_DEVICES,
    "g.index_fill(0, i, 1.0)": TWO_DEVICES,
    "torch.binomial(g, c)": TWO_DEVICES,
    "torch.var(g, 0, out=c[0])": TWO_DEVICES,
    "torch._C._nn.log_sigmoid(g, out=c)": TWO_DEVICES,
    "torch.sum(g, 0, out=c[0])": "Expected out tensor to have device cuda:0, but got cpu instead",
    "torch.max(g, 0, out=(c[0], i))": "Expected out tensor to have device cuda:0, but got cpu instead",
    "F.conv1d(g[None], c[None])": "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be "
    "the same",
}

ALLOWED = {
    "g + s": "cuda:0",
    "torch.where(g > 0, g, s)": "cuda:0",
    "g[i]": "cuda:0",
    "g[torch.tensor([True, False])]": "cuda:0",
    "g.masked_fill(g > 0, s)": "cuda:0",
    "g.index_put((i,), s)": "cuda:0",
    "c.copy_(g)": "cpu",
    "g.fill_(s)": "cuda:0",
    "g.bernoulli_(c)": "cuda:0",
    "g.index_fill(0, i.cuda(), s)": "cuda:0",
    "g.expand_as(c)": "cuda:0",
}


@pytest.fixture(params=CUDA_KINDS, autouse=True)
def cuda(request: pytest.FixtureRequest) -> Iterator[None]:
    with cuda_is(request.param):
        yield


def called(expression: str) -> Any:
    names = {"torch": torch, "F": torch.nn.functional, "i": torch.tensor([0]), "s": torch.tensor(2.0)}
    return eval(expression, names | {"c": torch.ones(2, 2), "g": torch.ones(2, 2, device="cuda")})


@pytest.mark.parametrize("expression", BY_A_WRAPPER)
def test_wrapper_refuses_second_device(expression: str) -> None:
    argument, device, others, method = BY_A_WRAPPER[expression]
    with pytest.raises(RuntimeError) as raised:
        called(expression)
    assert str(raised.value) == (
        f"Expected all tensors to be on the same device, but got {argument} is on {device}, different from other "
        f"tensors on {others} (when checking argument in method wrapper_CUDA_{method})"
    )


@pytest.mark.parametrize("expression", BY_A_KERNEL)
def test_kernel_refuses_second_device(expression: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        called(expression)
    assert str(raised.value) == BY_A_KERNEL[expression]


@pytest.mark.parametrize("expression", ALLOWED)
def test_numbers_and_indices_may_be_on_the_cpu(expression: str) -> None:
    assert str(called(expression).device) == ALLOWED[expression]


def test_undefined_tensors_have_no_device() -> None:
    c, g = torch.ones(1), torch.ones(1, device="cuda")
    for arguments in ({"a": None, "b": c, "c": None}, {"a": [None, g], "b": g, "c": []}):
        check_common_device("method", **arguments)
    with pytest.raises(RuntimeError, match=r"got b is on cpu, different from other tensors on cuda:0 .* method\)"):
        check_common_device("method", a=[None, g], b=[c, None])


def test_refused_call_ends_in_the_wrapper() -> None:
    c, g = torch.ones(2), torch.ones(2, device="cuda")
    with dispatchviz.record() as trace, pytest.raises(RuntimeError):
        torch.dot(g, c)
    entered = [e.kernel for e in trace if isinstance(e, ev.KernelEntered)]
    assert entered == ["VariableType::dot", "wrapper_CUDA__dot"]


def test_devices_of_cpu_tensors_are_not_compared() -> None:
    kept: list[Tensor] = [torch.ones(2), torch.ones(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dispatchviz.core.generated.register_cpu_cuda.check_common_device", None)
        assert torch.cat(kept).tolist() == [1.0] * 4
