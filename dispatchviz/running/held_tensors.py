"""What a variable's value holds, and how that is written: the parameters and buffers of a module by their paths
(``net.head.weight``), items of a tuple, a list or a dictionary (``params[0]``), an object's attributes (``net.w1``).

No code of the user's runs: what an object holds is read off its ``__dict__``, no attribute is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard

from dispatchviz.core.seam.recorder import PLAIN
from dispatchviz.core.tensor.tensor import Tensor

MANY = 64
"""So many items of a list are looked at: longer ones are data."""

HOLDS_NOTHING = PLAIN | {ModuleType, FunctionType, BuiltinFunctionType, MethodType, type, bytes, range}
"""Types of values that nobody reads a tensor's name off."""

Items = Iterator[tuple[str, Any]]
"""What is held, each with how it is written behind what it was found in."""
Held = Items
"""The same of tensors and modules alone."""


def held_by(value: Any, is_named: Callable[[Any], bool]) -> Held:
    """The tensors and modules in a value, the module itself first; nothing in those of most types.

    Modules that have a name of their own are left out of lists and other objects.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        yield from _of_items(((f"[{place}]", item) for place, item in enumerate(value[:MANY])), is_named)
    elif kind is dict:
        first = list(islice(value.items(), MANY))  # in one piece: another thread may change it meanwhile
        yield from _of_items(((f"[{key!r}]", item) for key, item in first if type(key) in (str, int)), is_named)
    elif is_module(value):
        yield from _of_module("", value, {})
    else:
        yield from _of_items(_attributes(value), is_named)


def is_tensor(value: Any) -> TypeGuard[Tensor]:
    """Whether a value is a tensor by its type: ``isinstance`` would ask other objects for their ``__class__``."""
    return not TENSOR_CLASSES.isdisjoint(type(value).__mro__)


TENSOR_CLASSES: set[type] = {Tensor}
"""Those that a program's values may be tensors of: the model's, and that of an installed PyTorch which is watched."""


def is_module(value: Any) -> bool:
    """Return whether a value is a ``torch.nn.Module``: has a place for parameters and one for modules."""
    own = _own_attributes(value)
    return own is not None and isinstance(own.get("_parameters"), dict) and isinstance(own.get("_modules"), dict)


def _own_attributes(value: Any) -> dict[str, Any] | None:
    if not type(value).__dictoffset__:
        return None
    own = object.__getattribute__(value, "__dict__")
    return own if type(own) is dict else None


def _attributes(value: Any) -> Items:
    """The public attributes that an object has for itself, none that its class may give or take."""
    for name, item in islice(_items(_own_attributes(value)), MANY):
        if type(name) is str and not name.startswith("_") and not any(name in vars(one) for one in type(value).__mro__):
            yield f".{name}", item


def _of_items(items: Items, is_named: Callable[[Any], bool]) -> Held:
    for text, item in items:
        if is_tensor(item):
            yield text, item
        elif type(item) not in HOLDS_NOTHING and not is_named(item):
            yield from _of_module(text, item, {})


def _of_module(path: str, module: Any, seen: dict[int, Any]) -> Held:
    """As ``named_parameters`` and ``named_buffers`` go through it: what is at two places counts where it is first."""
    if id(module) in seen or not is_module(module):
        return
    seen[id(module)] = module
    yield path, module
    own = object.__getattribute__(module, "__dict__")
    for space in ("_parameters", "_buffers"):
        for name, tensor in _items(own.get(space)):
            if is_tensor(tensor) and id(tensor) not in seen:
                seen[id(tensor)] = tensor
                yield f"{path}.{name}", tensor
    for name, below in _items(own.get("_modules")):
        yield from _of_module(f"{path}.{name}", below, seen)


def _items(members: Any) -> list[tuple[Any, Any]]:
    """Those of a dictionary, whatever methods a class of its own gives it."""
    return list(dict.items(members)) if isinstance(members, dict) else []
