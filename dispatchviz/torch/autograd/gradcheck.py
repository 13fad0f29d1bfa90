"""``torch.autograd.gradcheck``, ``gradgradcheck``: compare autograd with finite differences.

Mirrors ``torch/autograd/gradcheck.py``, together with the modules beside this one.

NB: the deprecated ``get_numerical_jacobian`` and ``get_analytical_jacobian`` are missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.gradcheck_analytical import (
    GradcheckError,
    backward_jacobians,
    backward_vjus,
    forward_jacobians,
)
from dispatchviz.torch.autograd.gradcheck_extras import (
    differentiable_outputs,
    try_batched_backward,
    try_batched_forward,
    try_undefined_backward,
    try_undefined_forward,
    try_zeros,
)
from dispatchviz.torch.autograd.gradcheck_messages import not_close, slow_mode
from dispatchviz.torch.autograd.gradcheck_numerical import (
    Check,
    as_tuple,
    numerical_jacobian,
    numerical_jvp,
    numerical_vjus,
    requiring,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_NEEDS = "Setting {}=True requires {} to be True"


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of ``func`` with small finite differences, for inputs that require grad.

    If they differ, raise GradcheckError, or return False without ``raise_exception``. Raise ValueError, RuntimeError or
    AssertionError with PyTorch's message for inputs and options that do not fit.
    """
    options = dict(locals())
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(_NEEDS.format("check_batched_grad", "check_backward_ad"))
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(_NEEDS.format("check_batched_forward_grad", "check_forward_ad"))
    try:
        return _run(func, as_tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _run(func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> bool:
    _check_inputs(inputs)
    check = Check(func, inputs, options)
    func_out = func(*inputs)
    outputs = differentiable_outputs(func_out)
    compare = _fast if options["fast_mode"] else _slow
    if options["check_backward_ad"]:
        _compare_backward(compare, check, func_out, outputs)
    if options["check_forward_ad"]:
        _compare_forward(compare, check, func_out, outputs, options["check_undefined_grad"])
    if options["check_batched_forward_grad"]:
        try_batched_forward(check)
    if not options["check_backward_ad"]:
        return True
    for number, output in enumerate(outputs):
        if options["check_batched_grad"]:
            try_batched_backward(check, output, number)
    try_zeros(check, outputs, options["masked"])
    if options["check_undefined_grad"]:
        try_undefined_backward(check, outputs)
    return True


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    found = False
    for index, value in enumerate(inputs):
        if not (isinstance(value, Tensor) and requiring(value)):
            continue
        if value._dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if not all(stride > 0 or size <= 1 for stride, size in zip(value._stride, value._size, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
        found = True
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


# -- real and imaginary parts ------------------------------------------------------------------------------------------

_Compare = Callable[[Check, Any, tuple[Any, ...]], None]
_PART = "While considering the {} part of complex {} only, "


def _compare_backward(compare: _Compare, check: Check, func_out: Any, outputs: tuple[Any, ...]) -> None:
    """Compare in backward mode; complex outputs part by part."""
    if not any(out.is_complex() for out in as_tuple(func_out)):
        compare(check, func_out, outputs)
        return
    for name, part in (("imaginary", torch.imag), ("real", torch.real)):

        def one_part(*inputs: Any, part: Any = part) -> tuple[Any, ...]:
            return tuple(part(out) if out.is_complex() else out for out in as_tuple(check.func(*inputs)))

        found = one_part(*check.inputs)
        label = _PART.format(name, "outputs")
        compare(check.of(one_part, part=label), found, differentiable_outputs(found))


def _compare_forward(compare: _Compare, check: Check, func_out: Any, outputs: tuple[Any, ...], undefined: bool) -> None:
    """Compare in forward mode; complex inputs part by part."""
    indices = [
        index for index, value in enumerate(check.inputs) if isinstance(value, Tensor) and value._dtype.is_complex
    ]
    if not indices:
        forward = check.of(check.func)
        forward.is_forward_ad = True
        compare(forward, func_out, outputs)
        if undefined:
            try_undefined_forward(forward, _vectors(forward, outputs)[1])
        return
    parts = []
    for name, attribute in (("imaginary", "imag"), ("real", "real")):
        func = _function_of_part(check, indices, attribute)
        inputs = tuple(
            getattr(value, attribute) if index in indices else value for index, value in enumerate(check.inputs)
        )
        forward = check.of(func, inputs, _PART.format(name, "inputs"))
        forward.is_forward_ad = True
        found = func(*inputs)
        compare(forward, found, differentiable_outputs(found))
        parts.append((forward, found))
    for forward, found in parts if undefined else ():
        try_undefined_forward(forward, _vectors(forward, found)[1])


def _function_of_part(check: Check, indices: list[int], attribute: str) -> Callable[..., tuple[Any, ...]]:
    """Return the function of one part of its complex inputs, with the other part fixed."""

    def func(*inputs: Any) -> tuple[Any, ...]:
        new = list(inputs)
        for index in indices:
            whole: Any = check.inputs[index]
            new[index] = new[index] + whole.imag * 1j if attribute == "real" else whole.real + new[index] * 1j
        return as_tuple(check.func(*new))

    return func


# -- slow: whole matrices ----------------------------------------------------------------------------------------------


def _slow(check: Check, func_out: Any, outputs: tuple[Any, ...]) -> None:
    func_out = as_tuple(func_out)
    if not outputs:
        _check_all_zero(numerical_jacobian(check, func_out))
        return
    by_input = numerical_jacobian(check, func_out)
    numerical = [[jacobians[index] for jacobians in by_input] for index, out in enumerate(func_out) if requiring(out)]
    if check.is_forward_ad:
        forward = forward_jacobians(check, func_out)
        for output, row in enumerate(numerical):
            for input, found in enumerate(row):
                _check_close(check, forward[input][output], found, output, input)
        return
    for output, tensor in enumerate(outputs):
        analytical = backward_jacobians(check, tensor)
        for input, (one, found) in enumerate(zip(analytical, numerical[output], strict=False)):
            _check_close(check, one, found, output, input)


def _check_all_zero(by_input: list[list[Any]]) -> None:
    for jacobians in by_input:
        for jacobian in jacobians:
            if torch.ne(jacobian, 0).sum() > 0:
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_close(check: Check, analytical: Any, numerical: Any, output: int, input: int) -> None:
    if not _allclose(analytical, numerical.to(analytical.device), check.rtol, check.atol):
        raise GradcheckError(not_close(analytical, numerical, output, input, check.part, check.is_forward_ad))


def _allclose(one: Any, other: Any, rtol: float, atol: float) -> bool:
    dtype = torch.promote_types(one.dtype, other.dtype)
    return bool(torch.allclose(one.to(dtype=dtype), other.to(dtype=dtype), rtol, atol))


# -- fast: one random direction ----------------------------------------------------------------------------------------


def _vectors(check: Check, outputs: Any) -> tuple[list[Any] | None, list[Any]]:
    """Return random directions for outputs (backward only) and inputs, from a generator with a fixed seed."""
    generator = torch.Generator()

    def vector(tensor: Any, real: bool = False) -> Any:
        dtype = {torch.complex128: torch.float64, torch.complex64: torch.float32}.get(tensor.dtype, tensor.dtype)
        wanted = dtype if real else tensor.dtype
        made = torch.rand(tensor.numel(), generator=generator).to(dtype=wanted, device=tensor.device)
        made /= made.norm()
        return made

    all_u = [(vector(t, True), vector(t, True)) if t.is_complex() else vector(t, True) for t in check.differentiable]
    return None if check.is_forward_ad else [vector(out) for out in outputs], all_u


def _fast(check: Check, func_out: Any, outputs: tuple[Any, ...]) -> None:
    all_v, all_u = _vectors(check, outputs)
    numerical = numerical_vjus(check, as_tuple(func_out), all_u, all_v)
    if check.is_forward_ad:
        analytical = forward_jacobians(check, as_tuple(func_out), all_u)
    else:
        if not outputs:
            _check_fast_zero(check, all_u)
        by_output = backward_vjus(check, outputs, all_u, all_v or [])
        analytical = [list(row) for row in zip(*by_output, strict=True)]
    for input, row in enumerate(numerical):
        for output, found in enumerate(row):
            one = analytical[input][output]
            moved = found.to(device=one.device)
            atol = _adjusted(check.atol, all_u[input], all_v[output] if all_v else None)
            if not _allclose(one, moved.to(one.device), check.rtol, atol):
                in_slow_mode = _again_in_slow_mode(check, outputs, input, output)
                text = not_close(one, moved, output, input, check.part, check.is_forward_ad)
                raise GradcheckError(text + in_slow_mode)


def _check_fast_zero(check: Check, all_u: list[Any]) -> None:
    for index, u in zip(check.indices, all_u, strict=True):
        for slope in numerical_jvp(check, index, u):
            if slope.numel() and (slope - torch.zeros_like(slope)).abs().max() > check.nondet_tol:
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _adjusted(atol: float, u: Any, v: Any) -> Any:
    """Return the tolerance scaled by the sums of the directions, as for whole matrices of ones."""
    sum_v = 1.0 if v is None else v.sum()
    if isinstance(u, tuple):
        real, imaginary = u[0].sum(), u[1].sum()
        return atol * (float(real) + float(imaginary)) * float(sum_v)
    return atol * float(u.sum()) * float(sum_v)


def _again_in_slow_mode(check: Check, outputs: tuple[Any, ...], input: int, output: int) -> str:
    numerical = numerical_jacobian(check, outputs)[input][output]
    if check.is_forward_ad:

        def alone(value: Any) -> Any:
            inputs = list(check.inputs)
            inputs[input] = value
            return as_tuple(check.func(*inputs))[output]

        one = check.of(alone, (check.inputs[input],))
        analytical = forward_jacobians(one, (outputs[output],))[0][0]
    else:
        tolerant = check.of(check.func)
        tolerant.nondet_tol, tolerant.check_grad_dtypes = float("inf"), False
        analytical = backward_jacobians(tolerant, outputs[output])[input]
    difference = (numerical - analytical).abs().max()
    return slow_mode(numerical, analytical, difference, torch.allclose(analytical, numerical, check.rtol, check.atol))


# -- twice -------------------------------------------------------------------------------------------------------------


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Run ``gradcheck`` on the gradients of ``func``, by its inputs and by ``grad_outputs`` (random if None)."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(_NEEDS.format(name, "check_rev_over_rev"))
    given = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable_outputs(func(*given))
        cotangents = tuple(_random_like(out, gen_non_contig_grad_outputs) for out in outputs)
    else:
        cotangents = as_tuple(grad_outputs)
    return gradcheck(
        _gradient_of(func, given, cotangents),
        given + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _random_like(tensor: Any, noncontiguous: bool) -> Any:
    """Return a random tensor between -1 and 1 that requires grad (``torch.testing.make_tensor``)."""
    made = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    (torch.view_as_real(made) if made.is_complex() else made).uniform_(-1, 1)
    if noncontiguous and made.numel() > 1:
        made = torch.repeat_interleave(made, 2, dim=-1)[..., ::2]
    return made.requires_grad_()


def _gradient_of(func: Callable[..., Any], inputs: Any, cotangents: Any) -> Callable[..., Any]:
    def wanted(tensors: Any) -> set[int]:
        return {index for index, each in enumerate(tensors) if isinstance(each, Tensor) and requiring(each)}

    input_indices, cotangent_indices = wanted(inputs), wanted(cotangents)

    def requiring_grad(tensors: tuple[Any, ...], indices: set[int]) -> tuple[Any, ...]:
        return tuple(each.requires_grad_() if index in indices else each for index, each in enumerate(tensors))

    def gradient(*args: Any) -> tuple[Any, ...]:
        given = requiring_grad(args[: -len(cotangents)], input_indices)
        outputs = differentiable_outputs(func(*given))
        grads = requiring_grad(args[-len(cotangents) :], cotangent_indices)
        by = tuple(each for index, each in enumerate(given) if index in input_indices)
        found = torch.autograd.grad(outputs, by, grads, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradient
