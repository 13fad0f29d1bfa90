"""The metaclass of tensors, which makes ``class T(torch.Tensor)`` an ordinary Python class (``_TensorMeta``).

``Tensor`` is a msgspec Struct, because one is created for every result. A Struct may not define ``__init__``,
``__new__`` or ``__slots__``, and is created from its fields. A user's subclass does all of that. So a subclass is
created without the names that a Struct refuses, gets them afterwards, and is called as Python calls any class.
``Tensor`` itself is created as fast as before. This module mirrors ``THPVariableMetaType`` of
``torch/csrc/autograd/python_variable.cpp``.

Not here: instances of subclasses (``tensor_subclass.py``).

NB: in PyTorch, ``__slots__`` of a subclass are slots. Here their attributes are in the instance's ``__dict__``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import StructMeta

_NOT_IN_A_STRUCT = ("__init__", "__new__", "__annotations__", "__annotate__", "__annotate_func__", "__slots__")
"""Names of a class body that msgspec refuses or would read as fields."""


def disabled_torch_dispatch_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call ``func`` below Python's key (``disable_torch_dispatch``). It is ``torch._C._disabled_torch_dispatch_impl``,
    for classes without ``__torch_dispatch__``.
    """
    from dispatchviz.core.keys.key_set import from_Python_up_keyset
    from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard

    with ExcludeDispatchKeyGuard(from_Python_up_keyset):
        return func(*args, **(kwargs or {}))


def disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call ``func`` without converting its results to the subclass (``torch._C._disabled_torch_function_impl``)."""
    from dispatchviz.core.thread.guards import SUBCLASSES_DISABLED, torch_function_disabled

    with torch_function_disabled(SUBCLASSES_DISABLED):
        return func(*args, **(kwargs or {}))


class TensorMeta(StructMeta):
    """The type of ``torch.Tensor``. Its subclasses have the metaclass ``SubclassMeta``."""

    def __new__(mcls, name: str, bases: tuple[type, ...], space: dict[str, Any], **keywords: Any) -> Any:
        if not any(isinstance(base, TensorMeta) for base in bases):
            return super().__new__(mcls, name, bases, space, **keywords)
        held = {key: space[key] for key in _NOT_IN_A_STRUCT if key in space}
        rest = {key: value for key, value in space.items() if key not in held}
        kind = _callable(mcls)  # type: ignore[arg-type]  # msgspec's stubs give classes of classes no hash
        cls = StructMeta.__new__(kind, name, _through_root(bases), rest, **keywords)
        _restore_attributes(cls, held)
        _disable_torch_function(cls)
        return cls


class SubclassMeta(TensorMeta):
    """The metaclass of subclasses. A call of the class runs its ``__new__`` and ``__init__``."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return type.__call__(cls, *args, **kwargs)


@cache
def _callable(mcls: Any) -> type[TensorMeta]:
    """The metaclass of a subclass: the user's own, if there is one, with a call that works as Python's."""
    kind: type[TensorMeta] = SubclassMeta if mcls is TensorMeta else mcls
    if not issubclass(kind, SubclassMeta):
        kind = type(kind.__name__, (kind, SubclassMeta), {"__module__": kind.__module__})
    return kind


_ROOTS: dict[type, type] = {}
"""For ``Tensor``, the class from which its subclasses really derive, once it exists."""


def set_root(tensor: type, new: Callable[..., Any]) -> None:
    """Make ``new`` the ``__new__`` of subclasses of ``tensor``, unless they define their own.

    It is put on a class between them and ``tensor``, since on ``tensor`` itself it would slow down every new tensor.
    """
    _ROOTS[tensor] = type(tensor)(tensor.__name__, (tensor,), {"__new__": new, "__module__": "torch"})


def root_of(tensor: type) -> type:
    """The class from which the subclasses of ``tensor`` really derive."""
    return _ROOTS[tensor]


def _through_root(bases: tuple[type, ...]) -> tuple[type, ...]:
    return tuple(_ROOTS.get(base, base) for base in bases)


def _restore_attributes(cls: type, held: dict[str, Any]) -> None:
    """Set the attributes of a class body as ``type()`` does, with ``__new__`` as a static method, but without
    ``__slots__``.
    """
    for name, value in held.items():
        if name == "__new__" and not isinstance(value, staticmethod):
            value = staticmethod(value)
        if name != "__slots__":
            setattr(cls, name, value)


def has_torch_dispatch(cls: type) -> bool:
    """Return whether instances of the class have the Python keys."""
    return getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl) is not disabled_torch_dispatch_impl


def _disable_torch_function(cls: type) -> None:
    """Give a class with ``__torch_dispatch__`` and without ``__torch_function__`` the disabled one."""
    default = next((getattr(tensor, "__torch_function__", None) for tensor in _ROOTS), None)
    own = getattr(cls, "__torch_function__", None)
    if has_torch_dispatch(cls) and getattr(own, "__func__", own) is getattr(default, "__func__", default):
        cls.__torch_function__ = staticmethod(disabled_torch_function_impl)  # type: ignore[attr-defined]


for _meta in (TensorMeta, SubclassMeta):
    _meta.__module__, _meta.__qualname__, _meta.__name__ = "torch._C", "_TensorMeta", "_TensorMeta"
