"""Custom operators return new memory (``_c_check_aliasing_constraint`` of ``torch/_library/utils.py``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dispatchviz.core.tensor import Tensor


def check_aliasing(who: str, args: Iterable[Any], kwargs: dict[str, Any], result: Any) -> None:
    """RuntimeError if a returned tensor shares memory with an argument or with another one."""
    seen = {id(tensor._storage) for tensor in _tensors((*args, *kwargs.values()))}
    for tensor in _tensors(result if isinstance(result, tuple) else (result,)):
        if id(tensor._storage) in seen:
            raise RuntimeError(
                f"{who}The output of this custom operator (1) must not also be an input to this custom operator and "
                "(2) may not alias any inputs to this custom operator or other returns. The most common way to trigger "
                "this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to "
                "not return y."
            )
        seen.add(id(tensor._storage))


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from (member for member in value if isinstance(member, Tensor))
