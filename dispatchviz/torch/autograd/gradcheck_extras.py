"""Further checks of ``gradcheck``: batches, zero and undefined gradients (``torch/autograd/gradcheck.py``).

NB: PyTorch runs batches under the legacy vmap of ``torch._vmap_internals``; here they run under ``torch.vmap``, and
tangents through ``torch.func.jvp``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd import forward_ad as fwAD
from dispatchviz.torch.autograd.gradcheck_analytical import GradcheckError, dual_inputs
from dispatchviz.torch.autograd.gradcheck_messages import (
    FAILED_BATCHED_FORWARD_GRAD,
    FAILED_BATCHED_GRAD,
    failed_batched,
)
from dispatchviz.torch.autograd.gradcheck_numerical import Check, as_tuple, is_float_or_complex, requiring


def differentiable_outputs(value: Any) -> tuple[Any, ...]:
    """Return the outputs that require grad."""
    return tuple(out for out in as_tuple(value) if out.requires_grad)


def _zeros(tensor: Any) -> Any:
    """Return zeros in the shape of the tensor, in the memory of one element."""
    return torch.zeros([], dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)


# -- batches -----------------------------------------------------------------------------------------------------------


def try_batched_backward(check: Check, output: Any, number: int) -> None:
    """Check that gradients for a batch are those for its examples. Raise GradcheckError if they are not."""
    inputs = check.differentiable

    def vjp(v: Any) -> Any:
        found = torch.autograd.grad(output, inputs, v, retain_graph=True, allow_unused=True)
        return tuple(_zeros(tensor) if g is None else g for g, tensor in zip(found, inputs, strict=True))

    grads = [torch.randn_like(output) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        _compare(vjp, grads, FAILED_BATCHED_GRAD, lambda index: (number, index), False)


def try_batched_forward(check: Check) -> None:
    """Check that tangents for a batch are those for its examples. Raise GradcheckError if they are not."""
    for index in check.indices:
        current = check.inputs[index]
        if not is_float_or_complex(current):
            continue

        def of(value: Any, index: int = index) -> Any:
            inputs = [each.detach() if isinstance(each, Tensor) else each for each in check.inputs]  # type: ignore[attr-defined]
            inputs[index] = value
            return tuple(out for out in as_tuple(check.func(*inputs)) if out is not None)

        def jvp(tangent: Any, current: Any = current, of: Any = of) -> Any:
            return torch.func.jvp(of, (current.detach(),), (tangent,))[1]

        tangents = [torch.randn_like(current) for _ in range(2)]
        _compare(jvp, tangents, FAILED_BATCHED_FORWARD_GRAD, lambda index: (index, index), True)


def _compare(
    function: Callable[[Any], Any],
    examples: list[Any],
    explained: str,
    where: Callable[[int], tuple[int, int]],
    is_forward_ad: bool,
) -> None:
    single = [function(example) for example in examples]
    expected = [torch.stack(shards) for shards in zip(*single, strict=True)]
    try:
        found = torch.vmap(function)(torch.stack(examples))
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{explained}") from error
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not torch.allclose(one, other):
            raise GradcheckError(failed_batched(*where(index), one, other, is_forward_ad))


# -- zeros -------------------------------------------------------------------------------------------------------------


def try_zeros(check: Check, outputs: tuple[Any, ...], masked: bool | None) -> None:
    """Check that zero gradients give zeros, with the dtype, device and size of the inputs. Raise GradcheckError if they
    do not.
    """
    inputs = check.differentiable
    if not inputs:
        raise GradcheckError("no Tensors requiring grad found in input")
    for gradient, tensor in zip(_grads_of_zeros(outputs, inputs), inputs, strict=True):
        if gradient is None:
            continue
        zero = torch.allclose(gradient, torch.zeros_like(gradient)) if masked else gradient.eq(0).all()
        if not zero:
            raise GradcheckError("backward not multiplied by grad_output")
        for name in ("dtype", "device"):
            if getattr(gradient, name) != getattr(tensor, name):
                raise GradcheckError(f"grad is incorrect {'type' if name == 'dtype' else name}")
        if gradient.size() != tensor.size():
            raise GradcheckError("grad is incorrect size")


def _grads_of_zeros(outputs: Any, inputs: list[Any]) -> Any:
    zeros = [torch.zeros_like(out, memory_format=torch.contiguous_format) for out in outputs]
    return torch.autograd.grad(outputs, inputs, zeros, allow_unused=True)


# -- undefined gradients -----------------------------------------------------------------------------------------------

_UNDEFINED_GRADS_NOTE = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def try_undefined_backward(check: Check, outputs: tuple[Any, ...]) -> None:
    """Check that undefined gradients, of all outputs and of each one, give zeros. Raise GradcheckError if they do
    not.
    """
    inputs = check.differentiable
    if not inputs:
        raise GradcheckError("no Tensors requiring grad found in input")
    undefined = torch._C._functions.UndefinedGrad

    def made() -> tuple[Any, ...]:
        return differentiable_outputs(check.func(*check.inputs))

    wanted = [[undefined()(out) for out in made() if isinstance(out, Tensor)]]
    if len(wanted[0]) > 1:
        wanted += [
            [undefined()(out) if index == which else out for index, out in enumerate(made())]
            for which in range(len(outputs))
        ]
    for given in wanted:
        _check_undefined(given, inputs)


def _check_undefined(outputs: list[Any], inputs: list[Any]) -> None:
    zeros = [torch.zeros_like(out, memory_format=torch.contiguous_format) for out in outputs]
    try:
        found = torch.autograd.grad(outputs, inputs, zeros, allow_unused=True)
    except RuntimeError as error:
        _warn()
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads. {_UNDEFINED_GRADS_NOTE}"
        ) from error
    for gradient in found:
        if gradient is not None and not gradient.eq(0).all():
            _warn()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                + _UNDEFINED_GRADS_NOTE
            )


def _warn() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=3,
    )


def try_undefined_forward(check: Check, all_u: list[Any]) -> None:
    """Check that an input without a tangent gives the results of one with a zero tangent. Raise GradcheckError if it
    does not.
    """
    with fwAD.dual_level():
        duals, tangents = dual_inputs(check.inputs)
        for tangent, u in zip(tangents, all_u, strict=False):
            tangent.copy_(u.view_as(tangent))
        for index in check.indices:
            input, dual = check.inputs[index], duals[index]
            results = []
            for value in (lambda: fwAD.make_dual(input.detach(), torch.zeros_like(input)), lambda: input.detach()):  # noqa: B023
                duals[index] = value()
                results.append(list(filter(is_float_or_complex, as_tuple(check.func(*duals)))))
            duals[index] = dual
            _compare_tangents(input, *results)


def _compare_tangents(input: Any, with_zeros: list[Any], without: list[Any]) -> None:
    for index, (one, other) in enumerate(zip(with_zeros, without, strict=True)):
        first, second = fwAD.unpack_dual(one)[1], fwAD.unpack_dual(other)[1]
        if first is not None and second is not None and not torch.allclose(first, second):
            raise GradcheckError(
                "Mismatch in tangent values for output with index: ",
                index,
                " when input: ",
                input,
                " has an undefined tangent value. ",
                " Got: ",
                first,
                " but expected: ",
                second,
            )


__all__ = [
    "differentiable_outputs",
    "requiring",
    "try_batched_backward",
    "try_batched_forward",
    "try_undefined_backward",
    "try_undefined_forward",
    "try_zeros",
]
