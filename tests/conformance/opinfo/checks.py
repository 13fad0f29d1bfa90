"""The calls of an operator, their samples, and the comparison of their results."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.opinfo import core as opinfo

import dispatchviz.torch as model_torch
from dispatchviz.core.tensor.tensor import Tensor
from tests.amounts import THOROUGH
from tests.conformance.opinfo.comparison import Outcome, Tolerances, difference, outcome, tolerances
from tests.conformance.opinfo.functions import NotHere, Pair, function, rebound, variants
from tests.conformance.opinfo.known import UNINITIALIZED, UP_TO_SIGNS
from tests.conformance.opinfo.values import MODEL, PYTORCH, Side, Untranslatable, made, written

DTYPES = (
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16, torch.bfloat16, torch.int64,
    torch.int32, torch.uint8, torch.bool,
)  # fmt: skip
ALL = "DISPATCHVIZ_OPINFO_ALL" in os.environ
"""True to check every sample instead of some of each kind."""
FEW = not THOROUGH
"""True to check only a few samples of each kind, so that 500 operators take two minutes."""
CALLED, CALLED_OTHERWISE, WRITTEN = (4, 1, 1) if FEW else (12, 3, 2)
"""The number of samples of each dtype: for the function, for its other variants, and with ``out=``."""
GRADIENT_DTYPES = {
    torch.float64: 2 if FEW else 4,
    torch.complex128: 1 if FEW else 3,
    torch.float32: 1 if FEW else 2,
    torch.bfloat16: 1 if FEW else 2,
}
"""The number of samples that are differentiated, by dtype."""
_SIDES = (torch, model_torch)

# PyTorch's own also queues seeds for absent accelerators, with a stack for each, which took half of the time here.
torch.manual_seed = torch.default_generator.manual_seed
# These search the callers and their sources for a unittest at every sample. There is none.
common_utils.extract_test_fn = opinfo.extract_test_fn = lambda: None


class Found(NamedTuple):
    """The outcome of one sample."""

    check: str
    """The name of the check: ``function float32``, ``gradient float64``, ``error``."""
    sample: str
    difference: str
    """The difference, or an empty string."""
    not_here: str = ""
    """The model's message about a missing part."""


class Call(NamedTuple):
    """The arguments on one side."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[Any]


def check(op: Any) -> Iterator[Found]:
    """Yield all comparisons of an operator. Raise NotHere if the model lacks it."""
    pair = function(op)
    allowed = None if op.name in UNINITIALIZED else tolerances(op)
    for dtype in DTYPES:
        if dtype in op.dtypes:
            yield from _forward(op, pair, dtype, allowed)
    for dtype, count in GRADIENT_DTYPES.items():
        if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"):
            yield from _gradients(op, pair, dtype, count, allowed)
    yield from _errors(op, pair)


def _forward(op: Any, pair: Pair, dtype: torch.dtype, allowed: Tolerances | None) -> Iterator[Found]:
    name = str(dtype).removeprefix("torch.")
    found = samples(partial(op.sample_inputs, "cpu", dtype, requires_grad=False), CALLED)
    for sample in found:
        yield compared(f"{pair.variant} {name}", pair, sample, _tolerances_of_sample(op, sample, allowed))
    for variant, find in variants(op):
        try:
            other = find()
        except NotHere as missing:
            yield Found(f"{variant} {name}", "", "", str(missing))
            continue
        for sample in found if ALL else found[:CALLED_OTHERWISE]:
            yield compared(f"{variant} {name}", other, sample, _tolerances_of_sample(op, sample, allowed))
    if op.supports_out:
        computed = dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
        within = None if allowed is None else allowed._replace(computed=computed)
        for sample in found if ALL else found[:WRITTEN]:
            yield from _out(f"out= {name}", pair, sample, _tolerances_of_sample(op, sample, within))


def _tolerances_of_sample(op: Any, sample: Any, allowed: Tolerances | None) -> Tolerances | None:
    """Return the tolerances. If signs depend on the library, compare what PyTorch's own tests differentiate."""
    if allowed is None or op.name not in UP_TO_SIGNS:
        return allowed
    return allowed._replace(determined=(processed(sample, torch), processed(sample, model_torch)))


def samples(make: Callable[[], Any], count: int) -> list[Any]:
    """Return some of the samples, evenly spaced over the first hundred, or all of them with ``ALL``."""
    torch.manual_seed(0)
    try:
        found = list(make() if ALL else itertools.islice(make(), 100))
    except Untranslatable:
        return []
    if ALL or len(found) <= count:
        return found
    return [found[i * len(found) // count] for i in range(count)]


def compared(name: str, pair: Pair, sample: Any, allowed: Tolerances | None) -> Found:
    """Compare one call on both sides."""
    text = summary(sample)
    try:
        real, model = calls(sample)
    except Untranslatable as word:
        return Found(name, text, "", str(word))
    outcomes = _run(pair.real, real, torch), _run(pair.model, model, model_torch)
    return judged(name, text, outcomes, (real.tensors, model.tensors), allowed)


def judged(name: str, text: str, outcomes: Sequence[Outcome], given: Any, allowed: Tolerances | None) -> Found:
    """Return the verdict on two outcomes."""
    real, model = outcomes
    refusal = _refusal(model)
    if refusal and str(real.error) != str(model.error):
        return Found(name, text, "", refusal)
    return Found(name, text, difference(real, model, given, allowed))


def _refusal(model: Outcome) -> str:
    """Return the model's own message about a missing part, or an empty string."""
    text = str(model.error) if model.error is not None else ""
    missing = re.search(r"'Tensor' object has no attribute|module 'torch[.\w]*' has no attribute", text)
    return text.split("; close names")[0] if missing or re.search(r"dispatchviz|of the model", text) else ""


def calls(sample: Any) -> tuple[Call, Call]:
    """Return a sample's arguments on both sides. Raise Untranslatable if the model cannot represent one."""
    values = written(((sample.input, *sample.args), sample.kwargs))
    return _made(values, PYTORCH), _made(values, MODEL)


def _made(values: Any, side: Side) -> Call:
    memo: dict[int, Any] = {}
    args, kwargs = made(values, side, memo, {})
    return Call(args, kwargs, list(memo.values()))


def _run(function: Callable[..., Any], call: Call, side: Any) -> Outcome:
    side.manual_seed(7)
    return outcome(lambda: function(*call.args, **call.kwargs))


def summary(sample: Any) -> str:
    """Return a sample as one line."""
    return str(sample.summary()).replace(', device="cpu"', "").replace("\n", " ")[:300]


# -- out= --------------------------------------------------------------------------------------------------------------


def _out(name: str, pair: Pair, sample: Any, allowed: Tolerances | None) -> Iterator[Found]:
    """Compare results written to tensors of the right shape, of other strides, without elements, and of another
    dtype.
    """
    try:
        real, _ = calls(sample)
    except Untranslatable:
        return
    expected = _run(pair.real, real, torch)
    parts = expected.result if isinstance(expected.result, (list, tuple)) else (expected.result,)
    if expected.error is not None or not all(isinstance(part, torch.Tensor) for part in parts):
        return
    for kind, form in _OUTS.items():
        try:
            outs = written(tuple(form(part) for part in parts))
        except Untranslatable:
            return
        sides = calls(sample)
        results = []
        for side, call, f in zip((PYTORCH, MODEL), sides, (pair.real, pair.model), strict=True):
            out = made(outs, side, {}, {})
            call.tensors.extend(out)
            call.kwargs["out"] = out if isinstance(expected.result, (list, tuple)) else out[0]
            results.append(_run(f, call, side.torch))
        given = sides[0].tensors, sides[1].tensors
        yield judged(f"{name}, {kind}", summary(sample), results, given, allowed)


def _transposed(like: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tuple(reversed(like.shape)), dtype=like.dtype).permute(tuple(reversed(range(like.dim()))))


_OUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "same": lambda like: torch.zeros(like.shape, dtype=like.dtype),
    "other strides": _transposed,
    "empty": lambda like: torch.empty(0, dtype=like.dtype),
    "resized": lambda like: torch.zeros((*like.shape, 2), dtype=like.dtype),
    "wider dtype": lambda like: torch.zeros(like.shape, dtype=torch.complex128 if like.is_complex() else torch.float64),
    "int64": lambda like: torch.zeros(like.shape, dtype=torch.int64),
}


# -- gradients ---------------------------------------------------------------------------------------------------------


def _gradients(op: Any, pair: Pair, dtype: torch.dtype, count: int, allowed: Tolerances | None) -> Iterator[Found]:
    name = str(dtype).removeprefix("torch.")
    twice = op.supports_gradgrad and dtype in (torch.float64, torch.complex128)
    for sample in samples(partial(op.sample_inputs, "cpu", dtype, requires_grad=True), count):
        try:
            given = calls(sample)
        except Untranslatable as word:
            yield Found(f"gradient {name}", summary(sample), "", str(word))
            continue
        first = [
            outcome(partial(_gradient, side, f, call, processed(sample, side), twice))
            for side, f, call in zip(_SIDES, (pair.real, pair.model), given, strict=True)
        ]
        tensors = given[0].tensors, given[1].tensors
        found = judged(f"gradient {name}", summary(sample), _grads_of(first), tensors, allowed)
        yield found
        if twice and not found.difference and not found.not_here and first[0].error is None:
            second = tuple(outcome(partial(_second, side, one.result)) for side, one in zip(_SIDES, first, strict=True))
            yield judged(f"double gradient {name}", summary(sample), second, tensors, allowed)


def processed(sample: Any, side: Any) -> Callable[[Any], Any]:
    """Return the function that selects the results that PyTorch's tests differentiate."""
    process = sample.output_process_fn_grad
    return process if side is torch else rebound(process)  # type: ignore[no-any-return]


class Graph(NamedTuple):
    """The graph after a first derivative."""

    inputs: list[Any]
    cotangents: list[Any]
    result: Any
    grads: tuple[Any, ...]


def _gradient(side: Any, f: Callable[..., Any], call: Call, process: Callable[[Any], Any], twice: bool) -> Graph:
    side.manual_seed(7)
    result = process(f(*call.args, **call.kwargs))
    outputs = [part for part in _tensors(result) if part.requires_grad]
    inputs = [tensor for tensor in call.tensors if tensor.requires_grad]
    cotangents = [_cotangent(side, output, i, twice) for i, output in enumerate(outputs)]
    if not outputs or not inputs:
        return Graph(inputs, cotangents, result, ())
    grads = side.autograd.grad(outputs, inputs, cotangents, create_graph=twice, allow_unused=True)
    return Graph(inputs, cotangents, result, grads)


def _second(side: Any, graph: Graph) -> tuple[Any, ...]:
    outputs = [grad for grad in graph.grads if grad is not None and grad.requires_grad]
    if not outputs:
        return ()
    cotangents = [_cotangent(side, output, 10 + i, False) for i, output in enumerate(outputs)]
    inputs = [*graph.inputs, *graph.cotangents]
    return side.autograd.grad(outputs, inputs, cotangents, allow_unused=True)  # type: ignore[no-any-return]


def _grads_of(outcomes: list[Outcome]) -> tuple[Outcome, Outcome]:
    """Return results and gradients, without the parts that are not compared."""
    real, model = (
        one if one.error is not None else Outcome((one.result.result, list(one.result.grads)), None) for one in outcomes
    )
    return real, model


def _cotangent(side: Any, output: Any, seed: int, requires_grad: bool) -> Any:
    """Return the same random numbers on both sides."""
    real, imaginary = torch.from_numpy(numpy.random.default_rng(seed).uniform(-1, 1, (2, *output.shape)))
    dtype = getattr(torch, str(output.dtype).removeprefix("torch."))
    tensor = (torch.complex(real, imaginary) if dtype.is_complex else real).to(dtype)
    plan = written(tensor.contiguous().requires_grad_(requires_grad))
    return made(plan, PYTORCH if side is torch else MODEL, {}, {})


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (torch.Tensor, Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


# -- errors ------------------------------------------------------------------------------------------------------------


def _errors(op: Any, pair: Pair) -> Iterator[Found]:
    """Compare the error inputs of PyTorch's own tests."""
    if op.error_inputs_func is None:
        return
    for error in samples(partial(op.error_inputs, "cpu"), 40):
        yield compared("error", pair, error.sample_input, None)
