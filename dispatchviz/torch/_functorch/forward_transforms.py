"""``torch.func.jvp`` (``torch/_functorch/eager_transforms.py``): dual tensors at a level of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._functorch import _jvp_decrement_nesting, _jvp_increment_nesting
from dispatchviz.torch._functorch.argnums import ArgNums, replace_args, slice_argnums
from dispatchviz.torch._functorch.eager_transforms import (
    assert_non_empty_tensor_output,
    undo_create_differentiable,
    wrap_all_tensors,
)
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd import forward_ad as fwAD
from dispatchviz.torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

JVP_STR = "jvp(f, primals, tangents)"

_nesting = 0
"""The number of running jvps. They share one dual level."""


@contextmanager
def jvp_increment_nesting() -> Iterator[int]:
    """Open a level of jvp for a block and yield its number."""
    global _nesting
    level = _jvp_increment_nesting()
    _nesting += 1
    try:
        yield level
    finally:
        _jvp_decrement_nesting()
        _nesting -= 1


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return the outputs of ``func`` and its Jacobian-vector product, the tangents of the outputs.

    ``strict``: every output must depend on the inputs. ``has_aux``: ``func`` also returns auxiliary data, which comes
    third. Raise RuntimeError with PyTorch's message for arguments that do not fit.
    """
    return jvp_with_argnums(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def jvp_with_argnums(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    argnums: ArgNums | None,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the outputs and the Jacobian-vector product by some of the arguments; None means all."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP_STR}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    inputs = primals if argnums is None else slice_argnums(primals, argnums, as_tuple=True)
    flat_primals, flat_tangents, spec = _checked(inputs, tangents)
    with (
        jvp_increment_nesting() as level,
        fwAD._set_fwd_grad_enabled(True),
        fwAD.dual_level() if _nesting == 1 else nullcontext(),
    ):
        flat_duals = [fwAD.make_dual(p, t) for p, t in zip(flat_primals, flat_tangents, strict=True)]
        duals = tree_unflatten(flat_duals, spec)
        if argnums is not None:
            duals = replace_args(wrap_all_tensors(primals, level), duals, argnums)
        return _unpacked(func(*duals), level, strict, has_aux)


def _checked(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], TreeSpec]:
    flat_primals, primals_spec = tree_flatten(primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if primals_spec != tangents_spec:
        raise RuntimeError(
            f"{JVP_STR}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {primals_spec} and tangents with "
            f"structure {tangents_spec}"
        )
    for name, flat in (("primals", flat_primals), ("tangents", flat_tangents)):
        if not flat:
            raise RuntimeError(f"{JVP_STR}: Expected {name} to contain at least one Tensor.")
        for each in flat:
            if not isinstance(each, Tensor):
                raise RuntimeError(f"{JVP_STR}: Expected {name} to only contain Tensors, got {type(each)}")
    return flat_primals, flat_tangents, primals_spec


def _unpacked(result: Any, level: int, strict: bool, has_aux: bool) -> Any:
    """Return the outputs and their tangents, unwrapped to the level below."""
    aux = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(f"{JVP_STR}: output of function f should be a tuple: (output, aux) if has_aux is True")
        result, aux = result
        aux = undo_create_differentiable(aux, level)
    flat, spec = tree_flatten(result)
    assert_non_empty_tensor_output(flat, JVP_STR)
    pairs = [safe_unpack_dual(dual, strict) for dual in flat]
    primals = tree_unflatten([undo_create_differentiable(pair[0], level) for pair in pairs], spec)
    tangents = tree_unflatten([undo_create_differentiable(pair[1], level) for pair in pairs], spec)
    return (primals, tangents, aux) if has_aux else (primals, tangents)


def safe_unpack_dual(dual: Any, strict: bool) -> tuple[Tensor, Tensor]:
    """Return the primal and the tangent. Without a tangent, return zeros, or raise RuntimeError if ``strict``."""
    primal, tangent = fwAD.unpack_dual(dual)
    if tangent is None and strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return primal, torch.zeros_like(primal) if tangent is None else tangent
