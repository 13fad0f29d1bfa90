"""The CUDA kernels return the same on the stand-in for CuPy as emulated on NumPy, with samples of PyTorch's ``op_db``.

If a GPU is available, CuPy itself is tried as well. One sample of each dtype is used, with ``make thorough`` six.
Eigenvectors and singular vectors are compared as far as a matrix determines them: LAPACK and cuSOLVER differ in signs
and phases.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's op_db needs expecttest")

import dispatchviz.torch as model_torch  # noqa: E402
from dispatchviz.core.tensor.tensor import Tensor  # noqa: E402
from tests.cuda_kinds import CUDA_KINDS, cuda_is  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    from tests.conformance.opinfo.checks import FEW, calls, processed, samples, summary
    from tests.conformance.opinfo.comparison import outcome
    from tests.conformance.opinfo.functions import NotHere, function
    from tests.conformance.opinfo.known import UNINITIALIZED, UP_TO_SIGNS

DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bfloat16)
DIFFERENTIATED = (torch.float32, torch.complex64)
TOLERANCES = {False: {"rtol": 1e-4, "atol": 1e-5}, True: {"rtol": 1e-3, "atol": 1e-4}}
"""Numbers determined up to signs have wider tolerances: their errors are divided by the distances of eigenvalues."""
GROUPS = 20
"""The number of tests. A test for each operator would have more overhead than work."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("kind", CUDA_KINDS[1:])
def test_operators_agree_between_kinds_of_cuda(kind: str, group: int) -> None:
    differing = {}
    with numpy.errstate(all="ignore"):
        for op in op_db[group::GROUPS]:
            for called, sample in samples_of(op):
                found = difference(kind, op, called, sample)
                if found and op.name not in UNINITIALIZED:
                    differing[f"{op.full_name} {summary(sample)}"] = found
    assert not differing


def samples_of(op: Any) -> Iterator[tuple[Callable[..., Any], Any]]:
    """Yield the model's function with each sample, or nothing if the model lacks it."""
    try:
        called = function(op).model
    except NotHere:
        return
    count = 1 if FEW and op.name not in UP_TO_SIGNS else 6  # the first ones have no elements
    for dtype in set(DTYPES) & set(op.dtypes):
        wanted = op.supports_autograd and dtype in DIFFERENTIATED and dtype in op.supported_backward_dtypes("cpu")
        for sample in samples(partial(op.sample_inputs, "cpu", dtype, requires_grad=wanted), count):
            yield called, sample


def difference(kind: str, op: Any, called: Callable[..., Any], sample: Any) -> str:
    """Return the difference between two kinds of CUDA, or an empty string."""
    emulated, other = (numbers_on(each, op, called, sample) for each in ("emulated", kind))
    errors = [
        None if each.error is None else f"{type(each.error).__name__}: {each.error}" for each in (emulated, other)
    ]
    if any(errors):
        return "" if errors[0] == errors[1] else f"emulated {errors[0]} | {kind} {errors[1]}"
    allowed = TOLERANCES[op.name in UP_TO_SIGNS]
    for one, two in zip(emulated.result, other.result, strict=True):
        if one.dtype != two.dtype or one.shape != two.shape:
            return f"emulated {one.dtype} {one.shape} | {kind} {two.dtype} {two.shape}"
        if not numpy.allclose(one.astype(complex), two.astype(complex), equal_nan=True, **allowed):
            return f"emulated {one} | {kind} {two}"
    return ""


def numbers_on(kind: str, op: Any, called: Callable[..., Any], sample: Any) -> Any:
    """Return the result of a call on one kind of CUDA and its gradients, as NumPy arrays, or the error."""
    with cuda_is(kind):
        model_torch.manual_seed(7)
        return outcome(lambda: computed(op, called, sample))


def computed(op: Any, called: Callable[..., Any], sample: Any) -> list[Any]:
    call = calls(sample)[1]
    args, kwargs = on_cuda(call.args), on_cuda(call.kwargs)
    result = called(*args, **kwargs)
    parts = on_host(tensors_in(result))
    if op.name in UP_TO_SIGNS:
        result = processed(sample, model_torch)(result)
        parts = [*map(numpy.zeros_like, parts), *determined(op.name, parts)]  # the shape and dtype of all
    return parts + on_host(gradients(result, [*args, *kwargs.values()]))


def gradients(result: Any, given: list[Any]) -> Iterator[Tensor]:
    roots = [each for each in tensors_in(result) if each.requires_grad and each.dtype.can_require_grad]
    if roots:
        leaves = [each for each in tensors_in(given) if each.requires_grad]
        ones = [model_torch.ones_like(root) for root in roots]
        found = model_torch.autograd.grad(roots, leaves, ones, allow_unused=True)
        yield from (each for each in found if each is not None)


def on_host(tensors: Iterator[Tensor]) -> list[Any]:
    return [each.detach().cpu().resolve_conj().resolve_neg()._array for each in tensors]


def determined(name: str, parts: list[Any]) -> list[Any]:
    """Return the parts of a decomposition that a matrix determines: the values, v v^H of each eigenvector, u v^H of
    each pair of singular vectors, the space that the other vectors span.
    """
    if name in ("linalg.eig", "linalg.eigh"):
        values, vectors = parts
        return [values, products(vectors, vectors)]
    left, values, right = parts
    if name == "linalg.svd":
        right = right.swapaxes(-1, -2).conj()
    count = values.shape[-1]
    spans = [products(each[..., count:], each[..., count:]).sum(-3) for each in (left, right)]
    return [values, products(left[..., :count], right[..., :count]), *spans]


def products(left: Any, right: Any) -> Any:
    """Return the products of each column with the conjugate of the other matrix's."""
    return numpy.einsum("...ik,...jk->...kij", left, right.conj())


def on_cuda(value: Any) -> Any:
    """Return the value on the CUDA device."""
    if isinstance(value, Tensor):
        return value.detach().to("cuda").requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {name: on_cuda(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(on_cuda, value))
    return model_torch.device("cuda") if value == model_torch.device("cpu") else value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a result or of arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
