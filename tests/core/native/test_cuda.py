"""Kernels on ``cuda`` give the same results as on the CPU, and call only the operators that PyTorch's CUDA kernels
call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.core.tensor.tensor import Tensor
from tests.amounts import some
from tests.core.native.answers import called_text, close, recorded
from tests.cuda_kinds import CUDA_KINDS, cuda_is
from truth.questions import native_kernels as questions
from truth.questions.native_kernels import stored

pytestmark = pytest.mark.record("native_kernels")

pytestmark = pytest.mark.long

CPU_ONLY = (
    "torch.empty(", "torch.zeros(", "torch.ones(", "torch.tensor(", "torch.full", "torch.rand", '"cpu"', "M", "scalar",
)  # fmt: skip
"""Parts of expressions that create or name tensors on another device."""

REFUSED = {
    "torch.mm(I,I.t())": "\"addmm_cuda\" not implemented for 'Long'",
    "torch.mm(Bo,Bo.t())": "\"addmm_cuda\" not implemented for 'Bool'",
    "torch.addmm(I.sum(1),I,I2.t())": "\"addmm_cuda\" not implemented for 'Long'",
    "torch.addmm(I.sum(1),I,I2.t(),alpha=2.5)": "\"addmm_cuda\" not implemented for 'Long'",
    "torch.addmm(Bo.sum(1).bool(),Bo,Bo.t())": "\"addmm_cuda\" not implemented for 'Bool'",
    "torch.mv(I,I.as_strided((3,),(1,)))": "\"addmv_impl_cuda\" not implemented for 'Long'",
    "torch.bmm(T3.to(torch.int64),T3b.to(torch.int64))": "\"baddbmm_cuda\" not implemented for 'Long'",
    "torch.bmm(T3.to(torch.bool),T3b.to(torch.bool))": "\"baddbmm_cuda\" not implemented for 'Bool'",
    "torch.dot(V.to(torch.int64),V.to(torch.int64))": "\"dot\" not implemented for 'Long'",
}
"""Expressions that CUDA refuses because cuBLAS does not multiply integers."""

DIVISION = 'torch.div(I,0,rounding_mode="floor")'
"""An integer division by 0 is an error on the CPU; on a GPU the result is undefined."""

NO_MASK = "A.masked_fill(A,1)"
"""An expression that CUDA refuses with another message."""

EXPRESSIONS = [
    text
    for text in questions.expressions()
    if text not in (*REFUSED, DIVISION, NO_MASK) and "out=" not in text and not any(word in text for word in CPU_ONLY)
]
GROUPS = 10
"""The number of tests: a test for each expression would take longer than the expression."""


@pytest.fixture(params=CUDA_KINDS, autouse=True)
def cuda(request: pytest.FixtureRequest) -> Iterator[str]:
    with cuda_is(request.param):
        yield request.param


def on_cuda() -> dict[str, Any]:
    names = questions.tensors(torch)
    moved = {k: v.to("cuda") for k, v in names.items() if isinstance(v, Tensor) and k not in ("M", "At", "E")}
    return names | moved | {"At": moved["A"].t(), "E": moved["V"].expand(2, 3)}


def called(expression: str, names: dict[str, Any] | None = None) -> str:
    known = names or on_cuda()
    calls, _, error = recorded(lambda: eval(expression, known))
    assert error is None
    return called_text(calls)


@pytest.mark.parametrize("group", some(range(GROUPS), 3))
def test_results_are_those_of_the_cpu_kernels(group: int) -> None:
    differing = {text: found for text in EXPRESSIONS[group::GROUPS] if (found := difference(text))}
    assert not differing


def difference(expression: str) -> str:
    """The difference to the result of PyTorch's CPU kernel; empty if there is none."""
    known = stored()["expressions"][expression]
    _, result, error = recorded(lambda: eval(expression, on_cuda()))
    said = [type(error).__name__, str(error).split("\n")[0].replace("torch.cuda.", "torch.")] if error else None
    if said != known["error"]:
        return f"{said} is not {known['error']}"
    if error:
        return ""
    described = questions.described(result, lambda value: isinstance(value, Tensor))
    same = close(described, known["result"], 2e-3 if "H" in expression else 5e-6)
    return "" if same else f"{described} is not {known['result']}"


@pytest.mark.parametrize("expression", REFUSED)
def test_integers_are_refused(expression: str) -> None:
    with pytest.raises(NotImplementedError) as raised:
        eval(expression, on_cuda())
    assert str(raised.value) == REFUSED[expression]


def test_loops_cast_without_to() -> None:
    assert called("A + 1") == "add.Tensor"
    assert called("A + D") == "add.Tensor"
    assert called("I == 1.5") == "eq.Scalar"


def test_sum_writes_no_zeros_first() -> None:
    assert called("A.sum()") == "sum\n  sum.dim_IntList\n    as_strided"


def test_mean_is_one_loop() -> None:
    assert called("A.mean(1)") == "mean.dim\n  as_strided"


def test_matrices_are_passed_to_cublas_without_a_copy() -> None:
    assert called("torch.mm(A, B)") == "mm"
    assert called("torch.bmm(T3, T3b)") == "bmm"
    assert called("torch.dot(V, V)") == "dot\n  empty.memory_format"
    gaps = "clone\n    empty_like\n      empty.memory_format\n    copy_"
    assert called("torch.mm(E, B)") == f"mm\n  {gaps}"


def test_zero_calls_fill() -> None:
    assert called("A.zero_()") == "zero_\n  fill_.Scalar"


def test_copy_between_devices_keeps_the_numbers() -> None:
    names = on_cuda() | {"host": questions.tensors(torch)}
    copy = "to.dtype_layout\n  _to_copy\n    empty_strided\n    copy_"
    assert called('host["A"].to("cuda")', names) == copy
    assert called('A.to("cpu")', names) == copy
    assert eval('A.to("cpu").tolist() == host["A"].tolist()', names)


def test_copy_of_another_dtype_is_converted_on_the_cpu() -> None:
    names = on_cuda() | {"host": questions.tensors(torch)}
    assert called("torch.ops.aten.copy_(D, host['A'])", names).split() == [
        *("copy_", "to.dtype", "_to_copy", "empty_strided", "copy_", "expand_as", "expand", "as_strided", "copy_")
    ]
    assert eval("D.tolist() == host['A'].tolist()", names)
    assert called("torch.ops.aten.copy_(host['D'], A2)", names).split() == [
        *("copy_", "empty_like", "empty.memory_format", "expand_as", "expand", "as_strided", "copy_", "copy_")
    ]
    assert eval("host['D'].tolist() == A2.tolist()", names)


def test_transposed_copy_between_devices_keeps_the_numbers() -> None:
    names = on_cuda() | {"host": questions.tensors(torch)}
    called("torch.ops.aten.copy_(B, host['A'].t())", names)
    assert eval("B.tolist() == host['At'].tolist()", names)


def test_cpu_number_may_be_combined_with_a_cuda_tensor() -> None:
    names = on_cuda() | {"host": questions.tensors(torch)}
    assert eval("A * host['S']", names).device.type == "cuda"
    assert called("torch.where(Bo, A, host['S'])", names).split()[:3] == [
        "where.self",
        "empty.memory_format",
        "to.device",
    ]
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
        eval("A * host['V']", names)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
        eval("host['A'].add_(A)", names)
    with pytest.raises(RuntimeError, match="too many CPU scalars"):
        eval("torch.logical_and(host['S'], host['S'], out=torch.empty((), device='cuda'))", names)
    with pytest.raises(RuntimeError, match="mat2 is on cpu, different from other tensors on cuda:0"):
        eval("A @ host['B']", names)


def test_power_of_a_number_moves_it_to_the_gpu() -> None:
    assert called("2 ** A").split() == [
        *("pow.Scalar", "result_type.Scalar_Tensor", "scalar_tensor", "empty.memory_format", "fill_.Scalar"),
        "pow.Tensor_Tensor_out",
    ]


def test_bias_is_not_expanded_for_cublaslt() -> None:
    assert called("torch.addmm(V, A.t(), A)").split()[-2:] == ["as_strided", "addmm"]
    assert called("torch.addmm(V.sum(), A.t(), A)").split()[-3:] == ["addmm", "expand", "as_strided"]


def test_batches_that_overlap_themselves_are_copied() -> None:
    names = on_cuda()
    names["Twice"] = eval("T3[:, :1].expand_as(T3)", names)
    assert called("torch.bmm(Twice, T3b)", names).split() == [
        "bmm",
        "clone",
        "empty_like",
        "empty.memory_format",
        "copy_",
    ]


def test_nonzero_writes_its_indices_transposed() -> None:
    assert called("A.nonzero()").split() == [
        *("nonzero", "resize_", "t", "transpose.int", "as_strided", "set_.source_Tensor"),
        "set_.source_Storage_storage_offset",
    ]


def test_gradient_of_max_reads_nothing_from_the_gpu() -> None:
    names = on_cuda()
    assert "item" not in called("A.requires_grad_(True).max().backward()", names)
    assert eval("A.grad.sum().item()", names) == 1


ADDED = {
    "one dimension": ((4, 3), (0,), [[1, 1, -1]], (3, 3)),
    "broadcast values": ((4, 3), (0,), [[1, 1, -1]], (3,)),
    "two dimensions": ((4, 3), (0, 1), [[1, 1, -1], [0, 0, 2]], (3,)),
    "apart": ((4, 3, 2), (0, 2), [[1, 1, -1], [0, 0, 1]], (3, 3)),
    "not the first": ((4, 3), (1,), [[0, 0, 2]], (4, 3)),
}


@pytest.mark.parametrize("transposed", [False, True], ids=["dense", "transposed"])
@pytest.mark.parametrize("case", ADDED)
def test_accumulating_index_put_gives_the_result_of_the_cpu(case: str, transposed: bool) -> None:
    size, dims, places, values = ADDED[case]

    def added(device: str) -> Any:
        target = torch.arange(float(math.prod(size))).view(*size).to(device)
        if transposed:
            target = (
                target.t().contiguous().t() if len(size) == 2 else target.transpose(0, 1).contiguous().transpose(0, 1)
            )
        indices: list[Any] = [None] * (max(dims) + 1)
        for dim, place in zip(dims, places, strict=True):
            indices[dim] = torch.tensor(place).to(device)
        given = torch.arange(float(math.prod(values))).view(*values).to(device)
        return torch.ops.aten.index_put_(target, indices, given, True)

    assert added("cuda").tolist() == added("cpu").tolist()


def test_lists_written_by_one_kernel_have_new_versions() -> None:
    first, second = (torch.ones(2, device="cuda") for _ in range(2))
    torch._foreach_add_([first, second], 1)
    torch._foreach_mul_([first], [2.0])
    torch._foreach_zero_([first])
    assert (first._version, second._version) == (2, 1)
