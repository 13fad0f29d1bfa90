"""Keys and key sets as Python programs see them: ``torch._C.DispatchKey`` and ``torch._C.DispatchKeySet``.

This module mirrors the two classes of ``torch/csrc/utils/python_dispatch.cpp``, which offer less than the C++ ones: no
``^``, no iteration, no hash of sets. The machine itself works with ``keys.py`` and raw integers.

Rule 1: every argument that is a key may also be a key's name.
Rule 2: a key of the machine and the same key here are equal and have the same hash, so that tables of either accept
both.

NB: in PyTorch, Python's own TypeErrors (``<`` of keys, hash of sets) name the classes with their module.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dispatchviz.core.bindings import pybind
from dispatchviz.core.bindings.pybind import NoFit, bound
from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.keys import KEY_BITS, PER_BACKEND, parse_dispatch_key
from dispatchviz.core.keys.keys import BackendComponent as _BackendComponent
from dispatchviz.core.keys.keys import DispatchKey as MachineKey

_FIRST = (
    *("Undefined", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"),
    *("CompositeImplicitAutogradNestedTensor", "CompositeImplicitAutograd", "AutogradNestedTensor"),
    *("AutogradOther", "Autograd", "Conjugate", "ZeroTensor", "Negative", "BackendSelect", "ADInplaceOrView"),
    *("PythonTLSSnapshot", "Python", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"),
    *("FuncTorchBatchedDecomposition", "FuncTorchBatched", "FuncTorchVmapMode", "FuncTorchGradWrapper"),
    *("PythonDispatcher", "PreDispatch", "Functionalize", "AutocastCPU", "AutocastMPS", "AutocastXPU"),
    *("AutocastHPU", "AutocastIPU", "AutocastCUDA", "AutocastPrivateUse1"),
)
"""The first names, in the order of the binding. The binding lacks sixteen runtime keys."""


def _names() -> dict[str, int]:
    """The names of the binding and their numbers, in its order. A number has two names where PyTorch gives it two."""
    named = {name: int(MachineKey[name]) for name in _FIRST}
    for block, functionality in enumerate(PER_BACKEND):
        start = MachineKey.StartOfDenseBackends + block * len(_BackendComponent)
        named[functionality.name] = int(functionality)
        named |= {MachineKey(start + backend).name: start + backend for backend in _BackendComponent}
        named[f"EndOf{MachineKey(start).name.removeprefix('StartOf')}"] = start + _BackendComponent.MetaBit
    return named


_BITS_OF_KEYS = 16


class DispatchKey:
    """A dispatch key."""

    __slots__ = ("_value",)
    __members__: ClassVar[dict[str, DispatchKey]]

    @bound(
        "__init__(self: torch._C.DispatchKey, value: typing.SupportsInt | typing.SupportsIndex) -> None",
        "torch._C.DispatchKey",
    )
    def __init__(self, value: int) -> None:
        if not 0 <= value < 1 << _BITS_OF_KEYS:
            raise NoFit
        self._value = value

    @property
    def value(self) -> int:
        """The number of the key in PyTorch."""
        return self._value

    @property
    def name(self) -> str:
        """name(self: object, /) -> str"""
        return _NAMED.get(self._value, "???")

    @property
    def functionality(self) -> MachineKey:
        """The functionality of the machine's key; Undefined if no key has this number."""
        return machine_key(self).functionality

    @property
    def is_alias(self) -> bool:
        """True if the key is an alias key (``isAliasDispatchKey``)."""
        return machine_key(self).is_alias

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}: {self._value}>"

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        """Compare with a key or its name. Raise RuntimeError if no key has the name."""
        if isinstance(other, str):
            return int(parse_dispatch_key(other)) == self._value
        return isinstance(other, DispatchKey | MachineKey) and int(other) == self._value

    def __getstate__(self) -> int:
        return self._value

    def __setstate__(self, value: int) -> None:
        self._value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return DispatchKey, (self._value,)


_NAMES = _names()
_NAMED = {number: name for name, number in reversed(_NAMES.items())}
DispatchKey.__members__ = {name: DispatchKey(number) for name, number in _NAMES.items()}
for _name, _member in DispatchKey.__members__.items():
    setattr(DispatchKey, _name, _member)
DispatchKey.__doc__ = "\n\n  ".join(["Members:", *_NAMES])


def python_key(key: MachineKey) -> DispatchKey:
    """The machine's key as Python sees it."""
    return DispatchKey(int(key))


def machine_key(key: Any) -> MachineKey:
    """Return the machine's key for a key of either kind or a name. Raise RuntimeError for an unknown name.

    Raise NoFit (a TypeError of bound functions) for anything else.

    NB: in PyTorch, a number without a key is a key without bits. Here it is EndOfFunctionalityKeys, which has the same
    name and has bit 62.
    """
    if isinstance(key, str):
        return parse_dispatch_key(key)
    if isinstance(key, MachineKey):
        return key
    if not isinstance(key, DispatchKey):
        raise NoFit
    return MachineKey(key.value) if key.value in _KEY_NUMBERS else MachineKey.EndOfFunctionalityKeys


_KEY_NUMBERS = frozenset(int(key) for key in MachineKey)


class DispatchKeySet(key_set.DispatchKeySet):
    """A set of dispatch keys. Every operation returns a new set."""

    @bound("__init__(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKey) -> None", "torch._C.DispatchKeySet")
    def __init__(self, key: MachineKey) -> None:
        self._raw = KEY_BITS[key]

    @staticmethod
    @bound("from_raw_repr(arg0: typing.SupportsInt | typing.SupportsIndex) -> torch._C.DispatchKeySet")
    def from_raw_repr(value: int) -> DispatchKeySet:
        if not 0 <= value < 1 << 64:
            raise NoFit
        made = DispatchKeySet.__new__(DispatchKeySet)
        made._raw = value
        return made

    @bound("raw_repr(self: torch._C.DispatchKeySet) -> int")
    def raw_repr(self) -> int:
        return self._raw

    @bound("has(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKey) -> bool")
    def has(self, key: MachineKey) -> bool:
        return super().has(key)

    @bound("add(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKey) -> torch._C.DispatchKeySet")
    def add(self, key: MachineKey) -> DispatchKeySet:
        return DispatchKeySet.from_raw_repr(self._raw | KEY_BITS[key])

    @bound("remove(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKey) -> torch._C.DispatchKeySet")
    def remove(self, key: MachineKey) -> DispatchKeySet:
        return DispatchKeySet.from_raw_repr(key_set.remove(self._raw, key))

    @bound("highestPriorityTypeId(self: torch._C.DispatchKeySet) -> torch._C.DispatchKey")
    def highestPriorityTypeId(self) -> DispatchKey:  # type: ignore[override]
        return python_key(key_set.highest(self._raw))

    @bound("__or__(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKeySet) -> torch._C.DispatchKeySet")
    def __or__(self, other: key_set.DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet.from_raw_repr(self._raw | other._raw)

    @bound("__and__(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKeySet) -> torch._C.DispatchKeySet")
    def __and__(self, other: key_set.DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet.from_raw_repr(self._raw & other._raw)

    @bound("__sub__(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKeySet) -> torch._C.DispatchKeySet")
    def __sub__(self, other: key_set.DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet.from_raw_repr(key_set.subtract(self._raw, other._raw))

    @bound("__eq__(self: torch._C.DispatchKeySet, arg0: torch._C.DispatchKeySet) -> bool")
    def __eq__(self, other: key_set.DispatchKeySet) -> bool:  # type: ignore[override]
        return self._raw == other._raw

    __hash__ = None
    __iter__ = None  # type: ignore[assignment]

    def __xor__(self, other: object) -> Any:
        return NotImplemented

    @bound("__repr__(self: torch._C.DispatchKeySet) -> str")
    def __repr__(self) -> str:
        return key_set.text(self._raw)

    @bound("__getstate__(self: torch._C.DispatchKeySet, /) -> tuple[int]")
    def __getstate__(self) -> tuple[int]:
        return (self._raw,)

    @bound("__setstate__(self: torch._C.DispatchKeySet, arg0: tuple) -> None")
    def __setstate__(self, state: tuple[int]) -> None:
        (self._raw,) = state


pybind.CONVERTERS |= {
    "torch._C.DispatchKey": machine_key,
    "c10::DispatchKey": machine_key,
    "torch._C.DispatchKeySet": pybind.instances_of(key_set.DispatchKeySet),
    "c10::DispatchKeySet": pybind.instances_of(key_set.DispatchKeySet),
}
