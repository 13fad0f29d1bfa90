"""Jacobians by finite differences, for ``gradcheck`` (``torch/autograd/gradcheck.py``).

Each element of an input is moved a little in both directions, in place, and the function is called each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor

Function = Callable[..., Any]


class Check:
    """The function, inputs and tolerances of a check."""

    def __init__(self, func: Function, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.func, self.inputs = func, inputs
        self.eps: float = options["eps"]
        self.rtol: float = options["rtol"]
        self.atol: float = options["atol"]
        self.nondet_tol: float = options["nondet_tol"]
        self.check_grad_dtypes: bool = options["check_grad_dtypes"]
        self.is_forward_ad = False
        self.part = ""
        """The part of a complex tensor that is checked, as words for messages."""

    def of(self, func: Function, inputs: tuple[Any, ...] | None = None, part: str = "") -> Check:
        """Return the same check for another function."""
        made = object.__new__(Check)
        made.__dict__.update(self.__dict__)
        made.func, made.inputs, made.part = func, self.inputs if inputs is None else inputs, part
        return made

    @property
    def indices(self) -> list[int]:
        """The indices of the inputs that require grad."""
        return [i for i, value in enumerate(self.inputs) if isinstance(value, Tensor) and requiring(value)]

    @property
    def differentiable(self) -> list[Any]:
        """The inputs that require grad."""
        return [self.inputs[input_index] for input_index in self.indices]


def requiring(tensor: Any) -> bool:
    """Return ``tensor.requires_grad``."""
    return bool(tensor.requires_grad)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the value as a tuple, also for lists."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_float_or_complex(value: Any) -> bool:
    """Return whether the value is a tensor that can have a gradient."""
    return isinstance(value, Tensor) and value._dtype.can_require_grad


def numerical_jacobian(check: Check, outputs: tuple[Any, ...]) -> list[list[Any]]:
    """Return per input a matrix for each output, with a row per element of the input. Raise ValueError for complex
    outputs.
    """
    if not check.is_forward_ad and any(out.is_complex() for out in outputs):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    return [_jacobians_of_input(check, input_index, outputs) for input_index in check.indices]


def _jacobians_of_input(check: Check, input_index: int, outputs: tuple[Any, ...]) -> list[Any]:
    input = check.inputs[input_index]
    rows: dict[int, list[Any]] = {}
    for number, (tensor, index) in enumerate(_elements(input)):
        call = _cloning(check)
        entry = tensor[index]
        differ = _central_difference(call, entry, check.eps, index)
        rows[number] = _derivatives_along(check, differ, check.eps, tensor.is_complex())
    return _combined(rows, outputs, input)


def _elements(tensor: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
    data = tensor.data
    yield from ((data, index) for index in product(*(range(length) for length in data.size())))


def _cloning(check: Check) -> Function:
    """Return a function whose results the next call does not change."""
    return lambda: tuple(out.clone() for out in as_tuple(check.func(*check.inputs)))


def _central_difference(call: Function, entry: Any, eps: float, index: Any = None) -> Function:
    """Return a function of a direction that gives the derivatives of all outputs along it."""

    def differ(delta: Any) -> tuple[Any, ...]:
        original = entry.clone()
        entry.copy_(original - delta)
        below = call()
        entry.copy_(original + delta)
        above = call()
        entry.copy_(original)
        return tuple(_slope(a, b) for a, b in zip(below, above, strict=False))

    def _slope(a: Any, b: Any) -> Any:
        _check_same(a, b, eps, index)
        return ((b - a) / (2 * eps)).detach().reshape(-1)

    return differ


def _check_same(one: Any, other: Any, eps: float, index: Any) -> None:
    where = "" if index is None else f"on index {index} "
    for what, a, b in (("shape", one.shape, other.shape), ("dtype", one.dtype, other.dtype)):
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, "
                f"but got: {what}s {a} and {b}."
            )


def _derivatives_along(check: Check, differ: Function, delta: Any, input_is_complex: bool) -> list[Any]:
    """Return the derivatives; for complex inputs, the derivative by the conjugate."""
    along_real = differ(delta[0] if isinstance(delta, tuple) else delta)
    if not input_is_complex:
        if not check.is_forward_ad and any(slope.is_complex() for slope in along_real):
            raise AssertionError("Expected ds_dx to be real-valued, not complex.")
        return list(along_real)
    along_imaginary = differ((delta[1] if isinstance(delta, tuple) else delta) * 1j)
    if any(slope.is_complex() for slope in along_real):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    return [real + imaginary * 1j for real, imaginary in zip(along_real, along_imaginary, strict=False)]


def zeros_for_outputs(outputs: Iterable[Any], rows: int, dtype: Any = None) -> list[Any]:
    """Return a matrix for each output, with a column per element."""
    return [out.new_zeros((rows, out.numel()), dtype=dtype) for out in outputs if is_float_or_complex(out)]


def _combined(rows: dict[int, list[Any]], outputs: tuple[Any, ...], input: Any) -> list[Any]:
    jacobians = zeros_for_outputs(outputs, input.numel(), input.dtype if input.is_complex() else None)
    for output_index, jacobian in enumerate(jacobians):
        for number, slopes in rows.items():
            jacobian[number] = slopes[output_index]
    return jacobians


# -- in one direction --------------------------------------------------------------------------------------------------


def numerical_jvp(check: Check, input_index: int, u: Any) -> list[Any]:
    """Return the derivatives of all outputs for an input that moves along ``u``; a complex input has two directions."""
    input = check.inputs[input_index]
    data = input.data
    differ = _central_difference(_cloning(check), data, check.eps)
    delta: Any
    if isinstance(u, tuple):
        shaped = tuple(each.reshape(data.shape) for each in u)
        delta = tuple(check.eps * each for each in shaped)
    else:
        delta = check.eps * u.reshape(data.shape)
    return _derivatives_along(check, differ, delta, input.is_complex())


def numerical_vjus(
    check: Check, outputs: tuple[Any, ...], all_u: list[Any], all_v: list[Any] | None
) -> list[list[Any]]:
    """Return per input and output the derivative along u, multiplied by v if given."""
    found = []
    for input_index, u in zip(check.indices, all_u, strict=True):
        slopes = numerical_jvp(check, input_index, u)
        kept = [slope for slope, out in zip(slopes, outputs, strict=True) if is_float_or_complex(out)]
        found.append(kept if all_v is None else [(v * slope).sum() for v, slope in zip(all_v, kept, strict=False)])
    return found
