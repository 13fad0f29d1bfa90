"""Modules that contain modules (``torch/nn/modules/container.py``)."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dispatchviz.torch.nn.modules.module import Module, indented
from dispatchviz.torch.nn.modules.named_members import members_changed


class _Numbered(Module):
    """Submodules named 0, 1, 2, ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _key(self, index: Any) -> str:
        """Return the name of a module. Raise IndexError if there is none."""
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def __setitem__(self, index: Any, module: Any) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for name in names:
            delattr(self, name)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))
        members_changed(self)

    def pop(self, key: Any) -> Any:
        """Remove a module and return it."""
        module: Any = self[key]  # type: ignore[index]
        del self[key]
        return module

    def append(self, module: Any) -> Any:
        """Append a module."""
        self.add_module(str(len(self)), module)
        return self

    def _make_room(self, index: int) -> None:
        for position in range(len(self._modules), index, -1):
            self._modules[str(position)] = self._modules[str(position - 1)]
        members_changed(self)


def _only_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)!s} is given.")


class Sequential(_Numbered):
    """A sequence of modules, each called with the result of the previous one."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[tuple[str, Any]] = args[0].items()
        else:
            named = ((str(index), module) for index, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Return the last module's result."""
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __add__(self, other: Any) -> Any:
        _only_sequential(other)
        return Sequential().extend(self).extend(other)

    def __iadd__(self, other: Any) -> Any:
        _only_sequential(other)
        offset = len(self)
        for index, module in enumerate(other):
            self.add_module(str(index + offset), module)
        return self

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other: Any) -> Any:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __imul__(self, other: Any) -> Any:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index: int, module: Any) -> Any:
        """Insert a module at an index. Raise AssertionError for anything but a module, IndexError if the index is out
        of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        position = index + len(self) if index < 0 else index
        self._make_room(position)
        self._modules[str(position)] = module
        return self

    def extend(self, sequential: Iterable[Any]) -> Any:
        """Append several modules."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list whose modules are submodules."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __add__(self, other: Iterable[Any]) -> Any:
        return ModuleList(itertools.chain(self, other))

    def __iadd__(self, modules: Iterable[Any]) -> Any:
        return self.extend(modules)

    def insert(self, index: int, module: Any) -> None:
        """Insert a module at an index."""
        self._make_room(index)
        self._modules[str(index)] = module

    def extend(self, modules: Iterable[Any]) -> Any:
        """Append several modules. Raise TypeError for anything but an iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        offset = len(self)
        for index, module in enumerate(modules):
            self.add_module(str(offset + index), module)
        return self

    def __repr__(self) -> str:
        """Return the repr, in which equal neighbors are shown once with their count."""
        if not len(self):
            return f"{self._get_name()}()"
        lines, first = [], 0
        for text, same in itertools.groupby(map(repr, self)):
            count = len(list(same))
            label = f"({first}): " if count == 1 else f"({first}-{first + count - 1}): {count} x "
            lines.append("\n  " + indented(label + text, 2, blank=True))
            first += count
        return f"{self._get_name()}({''.join(lines)}\n)"


class ModuleDict(Module):
    """A dictionary whose modules are submodules."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]
        members_changed(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()
        members_changed(self)

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Update from a mapping or pairs. Raise TypeError or ValueError for anything else."""
        for key, module in pairs(modules, "ModuleDict", "ModuleDict", (OrderedDict, ModuleDict, Mapping)):
            self[key] = module


def pairs(given: Any, kind: str, short: str, mappings: tuple[type, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a mapping or of a sequence of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, mappings):
        yield from given.items()  # type: ignore[attr-defined]
        return
    for position, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{short} update sequence element #{position} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(
                f"{short} update sequence element #{position} has length {len(pair)}; 2 is required"  # type: ignore[arg-type]
            )
        key, value = pair
        yield key, value
