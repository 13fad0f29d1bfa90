"""The matching functions of the model and of PyTorch, for every variant that an OpInfo names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch

import dispatchviz.torch as model_torch


class Pair(NamedTuple):
    """A function on both sides."""

    variant: str
    real: Callable[..., Any]
    model: Callable[..., Any]


class NotHere(Exception):
    """The model has no function of that name."""


def function(op: Any) -> Pair:
    """Return the function itself. Raise NotHere if the model lacks it."""
    return Pair("function", op.op, model_function(op.op, op.name))


def variants(op: Any) -> Iterator[tuple[str, Callable[[], Pair]]]:
    """Yield further ways to call it: a name and a function that finds it, which may raise NotHere."""
    named: list[tuple[str, Any, str]] = [
        ("method", op.method_variant, op.name),
        ("in-place", op.inplace_variant, op.name + "_"),
        ("operator", op.operator_variant, ""),
        ("in-place operator", op.inplace_operator_variant, ""),
    ]
    for alias in op.aliases:
        named.append((f"alias {alias.name}", alias.op, alias.name))
    for variant, real, name in named:
        if real is not None:
            yield variant, lambda variant=variant, real=real, name=name: Pair(variant, real, model_function(real, name))


def model_function(real: Any, name: str) -> Callable[..., Any]:
    """Return the model's function of a name, or PyTorch's test helper with its names bound to the model's."""
    if getattr(real, "__module__", None) in ("_operator", "operator"):
        return real  # type: ignore[no-any-return]
    for path in (name.removeprefix("torch."), name, f"Tensor.{name}", f"ops.aten.{name}", f"ops.{real}"):
        if _resolved(torch, path) == real:
            return _found(path)
    if isinstance(real, FunctionType) and real.__module__.startswith("torch.testing."):
        return rebound(real)
    raise NotHere(f"no way to find {name}")


def _resolved(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part, None)
    return root


def _found(path: str) -> Callable[..., Any]:
    root: Any = model_torch
    for part in path.split("."):
        if isinstance(root, type) and not any(part in vars(one) for one in root.__mro__):
            raise NotHere(f"torch.{path}")  # a metaclass may have a method of this name
        try:
            root = getattr(root, part)
        except AttributeError:
            raise NotHere(f"torch.{path}") from None
    return root  # type: ignore[no-any-return]


# -- test helpers ------------------------------------------------------------------------------------------------------


class _Names(dict[str, Any]):
    """The globals of a test helper of PyTorch, with the model as ``torch``."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(__builtins__=names["__builtins__"])
        self.names = names

    def __missing__(self, name: str) -> Any:
        return _translated(self.names[name])


def _translated(value: Any) -> Any:
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] == "torch":
        return _found(value.__name__.partition(".")[2]) if value is not torch else model_torch
    if isinstance(value, FunctionType) and value.__name__ == "freeze_rng_state":
        return contextlib.nullcontext  # both sides are seeded before every call
    if isinstance(value, FunctionType) and value.__module__.startswith("torch.testing."):
        return rebound(value)
    return value


def rebound(function: FunctionType) -> FunctionType:
    """Return the same code with the model behind its names."""
    new = FunctionType(
        function.__code__, _Names(function.__globals__), function.__name__, function.__defaults__, function.__closure__
    )
    new.__kwdefaults__ = function.__kwdefaults__
    return new
