"""Functions that CuPy lacks for some dtypes, and arrays without elements, compared with their emulation on NumPy.

Each expression is evaluated with each input. Results and errors of both sides are compared as text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dispatchviz import torch
from tests.cuda_kinds import CUDA_KINDS, cuda_is

pytestmark = pytest.mark.long

INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]
DTYPES = [*INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]

ORDERED = """
x.sort(); x.sort(0, descending=True); x.sort(stable=True); x.argsort(); torch.msort(x); x.t().sort()
x.topk(2); x.topk(1, largest=False); x.kthvalue(2); x.kthvalue(1, 0); x.median(); x.nanmedian(1); x.mode()
x.unique(return_inverse=True, return_counts=True); x.unique(dim=1); x.unique_consecutive(return_counts=True)
torch.searchsorted(x[1], x); torch.searchsorted(x.sort()[0], x, right=True); torch.bucketize(x, x[1])
torch.searchsorted(x[0], x, sorter=x[0].argsort()); torch.isin(x, x[0]); torch.isin(x.repeat(9, 9), x.repeat(9, 9))
x.quantile(0.5); x.nan_to_num().histc(4); x.flatten().bincount()
x.max(); x.max(1); x.argmin(0); x.amax(1); x.aminmax(); x.cummax(1); x.cummin(0); x.logcumsumexp(0)
x.sum(); x.prod(1); x.cumsum(1); x.cumprod(0); x.any(0); x.all(); x.count_nonzero(); x.nonzero(); x.std(); x.mean(1)
torch.where(x > 0, x, x + 1); x.clamp(0, 2); x.round(); x.sign(); x.nan_to_num(); x.index_add(0, i, x)
x @ x.mT; (x[:, 2:4] / 4).matrix_exp(); torch.tril(x); x.flip(0).roll(1, 0); x.bernoulli(0.0); x.masked_select(x > 0)
x.scatter_add(1, i[None], x)
"""
EMPTY = """
x.sort(); x.argsort(); torch.msort(x); x.topk(0); x.kthvalue(1); x.median(); x.median(-1); x.mode(-1); x.unique()
x.unique_consecutive(return_inverse=True); torch.searchsorted(x, x); torch.isin(x, x); x.bincount(); x.nonzero()
x[..., 1:]; x.select(-1, 1); x.narrow(-1, 1, 1); x.split(1, -1); x.chunk(3, -1); x.unbind(-1); x.diagonal(1)
x.as_strided((0,), (1,), 3); x.as_strided((1,), (1,), 3); x.unfold(0, 0, 1); x.view(torch.uint8); x.mT; x.flip(-1)
F.pad(x, (1, 2), "circular"); F.pad(x, (1, 2)); F.pad(x, (-1, -1)); torch.cat([x, x], -1); torch.stack([x, x])
x.roll(1); x.sum(); x.prod(0); x.any(); x.all(-1); x.max(); x.max(-1); x.amax(0); x.argmax(); x.mean(0); x.cumsum(-1)
x.cummax(-1); x.real; x.imag; torch.view_as_real(x)[..., 1]; x.conj().imag.resolve_neg(); torch.diff(x); torch.trace(x)
x @ x.mT; L.svd(x); L.svdvals(x); L.eigh(x); L.eigvalsh(x); L.eig(x); L.qr(x); L.inv(x); L.cholesky(x); L.det(x)
L.slogdet(x); L.lu(x); L.ldl_factor(x); L.pinv(x); L.matrix_norm(x); L.matrix_rank(x); L.solve(x, x); L.lstsq(x, x)
L.matrix_exp(x); torch.fft.fft(x); torch.fft.ifft(x, dim=0); torch.fft.rfft(x); torch.fft.irfft(x); torch.fft.fft2(x)
torch.cdist(x, x); grad(L.svd(x)[1]); grad(L.svd(x, full_matrices=False)[0].abs()); grad(L.eigh(x)[1].abs())
grad(L.qr(x)[0])
"""
SHAPES = [(0,), (0, 0), (0, 3), (3, 0), (0, 3, 3), (2, 0, 0), (2, 3, 0)]


def expressions(text: str) -> list[str]:
    return [each.strip() for line in text.strip().split("\n") for each in line.split(";")]


def full(dtype: str) -> Any:
    """A tensor with equal elements in a row, and nan if the dtype supports it."""
    inexact = "float" in dtype or "complex" in dtype
    rows = [[3.0, float("nan") if inexact else 7.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0, 5.0]]
    return torch.tensor(rows).to(getattr(torch, dtype)).cuda()


def empty(dtype: str, shape: tuple[int, ...]) -> Any:
    made = torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda")
    return made.requires_grad_(dtype in ("float32", "complex64"))


def answer(expression: str, x: Any) -> str:
    """The text of the result or of the error."""
    known = {"torch": torch, "x": x, "F": torch.nn.functional, "L": torch.linalg}
    known |= {"i": torch.tensor([1, 0], device="cuda"), "grad": lambda out: torch.autograd.grad(out.sum().abs(), x)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(eval(expression, known))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def differing(kind: str, asked: list[str], make: Callable[[], Any]) -> dict[str, Any]:
    given = []
    for each in ("emulated", kind):
        with cuda_is(each):
            given.append({text: answer(text, make()) for text in asked})
    return {text: (given[0][text], said) for text, said in given[1].items() if said != given[0][text]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", CUDA_KINDS[1:])
def test_every_dtype_gives_the_emulated_result(kind: str, dtype: str) -> None:
    assert not differing(kind, expressions(ORDERED), lambda: full(dtype))


@pytest.mark.parametrize("dtype", ["bool", "int64", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("kind", CUDA_KINDS[1:])
def test_empty_arrays_give_the_emulated_result(kind: str, dtype: str) -> None:
    for shape in SHAPES:
        assert not differing(kind, expressions(EMPTY), partial(empty, dtype, shape)), shape


def test_float32_is_refused_by_bincount_alone() -> None:
    with cuda_is("emulated"):
        refusing = [text for text in expressions(ORDERED) if "Error" in answer(text, full("float32"))]
    assert refusing == ["x.flatten().bincount()"]
