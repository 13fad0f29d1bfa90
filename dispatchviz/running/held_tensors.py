"""The tensors that the value of a variable holds, and the text for each: parameters and buffers of a module by their
paths (``net.head.weight``), items of a tuple, list or dictionary (``params[0]``), attributes of an object (``net.w1``).

No code of the user runs: attributes are read from ``__dict__``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard

from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.tensor.tensor import Tensor

MANY = 64
"""The number of items of a list that are read. Longer lists are data."""

HOLDS_NOTHING = PLAIN | {ModuleType, FunctionType, BuiltinFunctionType, MethodType, type, bytes, range}
"""Types of values that hold no named tensors."""

Items = Iterator[tuple[str, Any]]
"""The held values, each with the text that follows the name of its container."""
Held = Items
"""The same for tensors and modules only."""


def held_by(value: Any, is_named: Callable[[Any], bool]) -> Held:
    """Return the tensors and modules in a value, with the module itself first; empty for most types.

    Modules that have a name of their own are left out of lists and other objects.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        yield from _of_items(((f"[{place}]", item) for place, item in enumerate(value[:MANY])), is_named)
    elif kind is dict:
        first = list(islice(value.items(), MANY))  # one call, because another thread may change it meanwhile
        yield from _of_items(((f"[{key!r}]", item) for key, item in first if type(key) in (str, int)), is_named)
    elif is_module(value):
        yield from _of_module("", value)
    else:
        yield from _of_items(_attributes(value), is_named)


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """Return whether a value is a tensor by its type. ``isinstance`` would run ``__class__`` of other objects."""
    return not TENSOR_CLASSES.isdisjoint(type(value).__mro__)


TENSOR_CLASSES: set[type] = {Tensor}
"""The tensor classes of a program: the model's, and that of an installed PyTorch that is watched."""


def is_module(value: Any) -> bool:
    """Return whether a value is a ``torch.nn.Module``: it has a dictionary of parameters and one of modules."""
    own = _own_attributes(value)
    return own is not None and isinstance(own.get("_parameters"), dict) and isinstance(own.get("_modules"), dict)


def _own_attributes(value: Any) -> dict[str, Any] | None:
    if not type(value).__dictoffset__:
        return None
    own = object.__getattribute__(value, "__dict__")
    return own if type(own) is dict else None


def _attributes(value: Any) -> Items:
    """Return the public attributes in an object's own namespace, without those that its class may add or remove."""
    for name, item in islice(_items(_own_attributes(value)), MANY):
        if type(name) is str and not name.startswith("_") and not any(name in vars(one) for one in type(value).__mro__):
            yield f".{name}", item


def _of_items(items: Items, is_named: Callable[[Any], bool]) -> Held:
    for text, item in items:
        if is_tensor(item):
            yield text, item
        elif type(item) not in HOLDS_NOTHING and not is_named(item):
            yield from _of_module(text, item)


def _of_module(path: str, module: Any) -> Held:
    """Return the parameters and buffers as ``named_parameters`` and ``named_buffers`` list them. One at two places
    counts where it is first. Modules may be nested deeper than Python's stack.
    """
    seen: dict[int, Any] = {}
    left = [(path, module)]
    while left:
        path, module = left.pop()
        if id(module) in seen or not is_module(module):
            continue
        seen[id(module)] = module
        yield path, module
        own = object.__getattribute__(module, "__dict__")
        for space in ("_parameters", "_buffers"):
            for name, tensor in _items(own.get(space)):
                if is_tensor(tensor) and id(tensor) not in seen:
                    seen[id(tensor)] = tensor
                    yield f"{path}.{name}", tensor
        left += [(f"{path}.{name}", below) for name, below in reversed(_items(own.get("_modules")))]


def _items(members: Any) -> list[tuple[Any, Any]]:
    """Return the items of a dictionary, without calling methods that its class may override."""
    return list(dict.items(members)) if isinstance(members, dict) else []
