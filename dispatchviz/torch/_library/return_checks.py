"""Checks of the results of custom operators' functions (``backend_impl``, ``_c_check_aliasing_constraint``).

A function may return new memory; the first argument or the out= arguments, by its tags; or a view, by its schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._library.schema_properties import is_view, written
from dispatchviz.torch.tags import Tag

_MODULE = "<module 'torch._library.custom_ops' from 'torch/_library/custom_ops.py'>"
"""The module that PyTorch's errors name: that of its own wrapper, not the user's."""


def check_result(
    name: str,
    schema: FunctionSchema,
    tags: Collection[Tag],
    result: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Raise RuntimeError with PyTorch's message if the result does not match the tags and the schema."""
    who = f"{name} (with implementation in {_MODULE}): "
    if Tag.inplace in tags:
        if result is not args[0]:
            raise RuntimeError(f"{who}An operator tagged with torch.Tag.inplace must return its first argument.")
    elif Tag.out in tags:
        out = tuple(kwargs[argument] for argument in written(schema)[1])
        returned = result if isinstance(result, tuple) else (result,)
        if len(returned) != len(out) or any(a is not b for a, b in zip(returned, out, strict=True)):
            raise RuntimeError(
                f"{who}An operator tagged with torch.Tag.out must return its mutable keyword-only arguments."
            )
    elif not is_view(schema):
        _check_aliasing(who, args, kwargs, result)


def _check_aliasing(who: str, args: Iterable[Any], kwargs: dict[str, Any], result: Any) -> None:
    """Raise RuntimeError if a returned tensor shares memory with an argument or with another result."""
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
