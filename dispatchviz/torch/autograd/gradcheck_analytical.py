"""Jacobians by autograd for ``gradcheck``, row by row or by columns (``torch/autograd/gradcheck.py``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd import forward_ad as fwAD
from dispatchviz.torch.autograd.gradcheck_messages import FAILED_NONDET
from dispatchviz.torch.autograd.gradcheck_numerical import (
    Check,
    as_tuple,
    is_float_or_complex,
    requiring,
    zeros_for_outputs,
)


class GradcheckError(RuntimeError):
    """The error of ``gradcheck`` and ``gradgradcheck``."""


GradcheckError.__module__ = "torch.autograd.gradcheck"

# -- backward ----------------------------------------------------------------------------------------------------------


def backward_jacobians(check: Check, output: Any, v: Any = None) -> list[Any]:
    """Return per input a matrix with a column per element of the output; in fast mode one column, for ``v``.

    The matrix is computed twice. Raise GradcheckError if the two differ, or gradients have the wrong size.
    """
    inputs = check.differentiable

    def vjp(grad_output: Any) -> Any:
        return torch.autograd.grad(output, inputs, grad_output, retain_graph=True, allow_unused=True)

    rows = _rows if v is None else _row
    first, second = (rows(vjp, output.clone(), v) for _ in range(2))
    count = output.numel() if v is None else 1
    found, sizes_ok, types_ok = _stacked(first, inputs, count)
    again, _, _ = _stacked(second, inputs, count)
    same = _equal(found, again, check.nondet_tol)
    if not sizes_ok and check.check_grad_dtypes:  # PyTorch swaps the two by mistake
        raise GradcheckError("Gradient has dtype mismatch")
    if not types_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not same:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient.The tolerance for "
            f"nondeterminism was {check.nondet_tol}.{FAILED_NONDET}"
        )
    return found


def _rows(vjp: Callable[[Any], Any], sample: Any, v: None) -> list[list[Any]]:
    """Return per input its gradient for each element of the output."""
    base = torch.zeros_like(sample, memory_format=torch.contiguous_format)
    flat = base.view(-1)
    found: list[list[Any]] = []
    for element in range(flat.numel()):
        flat.zero_()
        flat[element] = 1.0
        for index, gradient in enumerate(vjp(base)):
            if not element:
                found.append([])
            found[index].append(None if gradient is None else gradient.clone())
    return found


def _row(vjp: Callable[[Any], Any], sample: Any, v: Any) -> list[list[Any]]:
    gradients = vjp(v.reshape(sample.shape))
    return [[None if gradient is None else gradient.clone()] for gradient in gradients]


def _stacked(rows: list[list[Any]], inputs: list[Any], count: int) -> tuple[list[Any], bool, bool]:
    """Return the matrices, whether all sizes fit, and whether all dtypes fit."""
    found = [tensor.new_zeros((tensor.numel(), count)) for tensor in inputs if is_float_or_complex(tensor)]
    sizes_ok = types_ok = True
    for index, gradients in enumerate(rows):
        for column, gradient in enumerate(gradients):
            if gradient is None:
                found[index][:, column].zero_()
                continue
            if gradient.size() != inputs[index].size():
                sizes_ok = False
            elif gradient.dtype != inputs[index].dtype:
                types_ok = False
            _check_length(found[index][:, column], gradient)
            found[index][:, column] = gradient.reshape(-1)
    return found, types_ok, sizes_ok


def _check_length(column: Any, gradient: Any) -> None:
    if column.numel() != gradient.numel():
        raise AssertionError(
            f"Expected out_jacobian column to have {gradient.numel()} elements, but got {column.numel()}"
        )


def _equal(ones: list[Any], others: list[Any], tolerance: float) -> bool:
    return not any(
        one.numel() != 0 and (one - other).abs().max() > tolerance for one, other in zip(ones, others, strict=False)
    )


def backward_vjus(check: Check, outputs: tuple[Any, ...], all_u: list[Any], all_v: list[Any]) -> list[list[Any]]:
    """Return per output and input the gradient for v, multiplied by u."""
    found = []
    for output, v in zip(outputs, all_v, strict=False):
        gradients = backward_jacobians(check, output, v)
        found.append([_dot(each.T.squeeze(0), u) for each, u in zip(gradients, all_u, strict=False)])
    return found


def _dot(gradient: Any, u: Any) -> Any:
    if not gradient.is_complex():
        return gradient.dot(u)
    parts = torch.view_as_real(gradient.resolve_conj())
    real, imaginary = parts.select(-1, 0), parts.select(-1, 1)
    return real.dot(u[0]) + 1j * imaginary.dot(u[1])


# -- forward -----------------------------------------------------------------------------------------------------------


def forward_jacobians(check: Check, outputs: tuple[Any, ...], all_u: list[Any] | None = None) -> list[list[Any]]:
    """Return per input a matrix for each output with a row per element of the input, or the results of each tangent
    ``u``.
    """
    inputs = check.differentiable
    if any(tensor.is_complex() for tensor in inputs):
        raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
    found = [zeros_for_outputs(outputs, 1 if all_u else tensor.numel()) for tensor in inputs]
    with fwAD.dual_level():
        duals, tangents = dual_inputs(check.inputs)
        for index, tangent in enumerate(tangents):
            if all_u:
                tangent.copy_(all_u[index].view_as(tangent))
                for jacobian, result in zip(found[index], _tangents_out(check, duals), strict=False):
                    jacobian.squeeze_(0)
                    _put(jacobian, result)
                tangent.zero_()
            else:
                _columns(check, duals, tangent, found[index])
    return found


def dual_inputs(inputs: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Return the inputs, with a tangent of zeros for those that require grad, and the tangents."""
    duals, tangents = [], []
    for value in inputs:
        if isinstance(value, Tensor) and requiring(value):
            value = fwAD.make_dual(value.detach(), torch.zeros_like(value))  # type: ignore[attr-defined]
            tangents.append(fwAD.unpack_dual(value)[1])
        duals.append(value)
    return duals, tangents


def _columns(check: Check, duals: list[Any], tangent: Any, jacobians: list[Any]) -> None:
    for number, index in enumerate(product(*(range(length) for length in tangent.size()))):
        tangent[index] = 1.0
        for jacobian, result in zip(jacobians, _tangents_out(check, duals), strict=False):
            _put(jacobian[number], result)
        tangent[index] = 0.0


def _tangents_out(check: Check, duals: list[Any]) -> Any:
    outputs = as_tuple(check.func(*duals))
    for dual in filter(is_float_or_complex, outputs):
        value, tangent = fwAD.unpack_dual(dual)
        mismatch = tangent is not None and value._dtype.is_complex != tangent._dtype.is_complex
        if check.check_grad_dtypes and mismatch:
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        yield tangent


def _put(row: Any, tangent: Any) -> None:
    if tangent is None:
        row.zero_()
    else:
        row.copy_(tangent.reshape(-1))
