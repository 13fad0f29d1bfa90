"""The CUDA kernels give the same on the stand-in for CuPy as emulated on NumPy, with samples of PyTorch's ``op_db``.

Where a GPU is at hand, CuPy itself is tried as well. One sample of each dtype, with ``make thorough`` six.
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

    from tests.conformance.opinfo.checks import FEW, calls, samples, summary
    from tests.conformance.opinfo.comparison import outcome
    from tests.conformance.opinfo.functions import NotHere, function
    from tests.conformance.opinfo.known import UNINITIALISED

DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bfloat16)
DIFFERENTIATED = (torch.float32, torch.complex64)
GROUPS = 20
"""So many tests: a test of its own takes longer than an operator."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("kind", CUDA_KINDS[1:])
def test_operators(kind: str, group: int) -> None:
    differing = {}
    with numpy.errstate(all="ignore"):
        for op in op_db[group::GROUPS]:
            for called, sample in samples_of(op):
                found = difference(kind, called, sample)
                if found and op.name not in UNINITIALISED:
                    differing[f"{op.full_name} {summary(sample)}"] = found
    assert not differing


def samples_of(op: Any) -> Iterator[tuple[Callable[..., Any], Any]]:
    """The model's function with each sample; none where the model lacks it."""
    try:
        called = function(op).model
    except NotHere:
        return
    for dtype in set(DTYPES) & set(op.dtypes):
        wanted = op.supports_autograd and dtype in DIFFERENTIATED and dtype in op.supported_backward_dtypes("cpu")
        for sample in samples(partial(op.sample_inputs, "cpu", dtype, requires_grad=wanted), 1 if FEW else 6):
            yield called, sample


def difference(kind: str, called: Callable[..., Any], sample: Any) -> str:
    """Between two kinds of CUDA; empty if there is none."""
    emulated, other = (numbers_on(each, called, sample) for each in ("emulated", kind))
    errors = [
        None if each.error is None else f"{type(each.error).__name__}: {each.error}" for each in (emulated, other)
    ]
    if any(errors):
        return "" if errors[0] == errors[1] else f"emulated {errors[0]} | {kind} {errors[1]}"
    for one, two in zip(emulated.result, other.result, strict=True):
        if one.dtype != two.dtype or one.shape != two.shape:
            return f"emulated {one.dtype} {one.shape} | {kind} {two.dtype} {two.shape}"
        if not numpy.allclose(one.astype(complex), two.astype(complex), rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"emulated {one} | {kind} {two}"
    return ""


def numbers_on(kind: str, called: Callable[..., Any], sample: Any) -> Any:
    """The result of a call on one kind of CUDA and its gradients, as NumPy arrays, or the error."""
    with cuda_is(kind):
        model_torch.manual_seed(7)
        return outcome(lambda: computed(called, calls(sample)[1]))


def computed(called: Callable[..., Any], call: Any) -> list[Any]:
    args, kwargs = on_cuda(call.args), on_cuda(call.kwargs)
    found = list(tensors_in(called(*args, **kwargs)))
    roots = [each for each in found if each.requires_grad and each.dtype.can_require_grad]
    if roots:
        leaves = [each for each in tensors_in([*args, *kwargs.values()]) if each.requires_grad]
        gradients = model_torch.autograd.grad(
            roots, leaves, [model_torch.ones_like(root) for root in roots], allow_unused=True
        )
        found += [each for each in gradients if each is not None]
    return [each.detach().cpu().resolve_conj().resolve_neg()._array for each in found]


def on_cuda(value: Any) -> Any:
    """The same on the CUDA device."""
    if isinstance(value, Tensor):
        return value.detach().to("cuda").requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {name: on_cuda(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(on_cuda, value))
    return model_torch.device("cuda") if value == model_torch.device("cpu") else value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors of a result or of arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
