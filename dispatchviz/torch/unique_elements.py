"""``torch.unique`` and ``torch.unique_consecutive`` (``torch/functional.py``): the requested outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.generated import python_bindings as bindings
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function_unary


def _requested(found: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    """Return the elements alone, or a tuple with the other outputs that were requested."""
    output, inverse, counts = found
    if not (return_inverse or return_counts):
        return output
    return (output, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))


def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return each element once, or each slice along a dimension; if requested, also the inverse indices and the
    counts.
    """
    how = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
    if has_torch_function_unary(input):
        return handle_torch_function(unique, (input,), input, **how, dim=dim)
    found = bindings._unique2(input, **how) if dim is None else bindings.unique_dim(input, dim, **how)
    return _requested(found, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements without consecutive repetitions, with the same optional outputs as ``unique``."""
    how = {"return_inverse": return_inverse, "return_counts": return_counts, "dim": dim}
    if has_torch_function_unary(input):
        return handle_torch_function(unique_consecutive, (input,), input, **how)
    return _requested(bindings.unique_consecutive(input, **how), return_inverse, return_counts)


FUNCTIONS: dict[str, Callable[..., Any]] = {"unique": unique, "unique_consecutive": unique_consecutive}
"""The functions for ``torch``."""
METHODS: dict[str, Callable[..., Any]] = dict(FUNCTIONS)
"""The methods for Tensor."""
