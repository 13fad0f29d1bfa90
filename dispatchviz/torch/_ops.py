"""``torch.ops.<namespace>.<operator>.<overload>``: calls that enter the dispatcher boxed (``torch/_ops.py``).

Namespaces, packets and overloads are created at the first lookup and kept. ``forget`` drops the definitions of a
library that is destroyed. The operators themselves are in ``op_overload.py``.

NB: in PyTorch, ``torch.ops`` also has higher-order operators.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import ModuleType
from typing import NoReturn

from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.torch.op_overload import OpOverload as OpOverload
from dispatchviz.torch.op_overload import OpOverloadPacket as OpOverloadPacket
from dispatchviz.torch.op_overload import defined_in_python as defined_in_python
from dispatchviz.torch.op_overload import overload_names
from dispatchviz.torch.operator_base import results as results


class _OpNamespace(ModuleType):
    """A namespace of operators, such as ``torch.ops.aten``."""

    __file__ = "torch.ops"

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self._dir: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, op_name: str) -> OpOverloadPacket:
        if op_name in ("__origin__", "__self__"):
            raise AttributeError(f"Invalid attribute '{op_name}' for '_OpNamespace' '{self.name}'")
        qualified = f"{self.name}::{op_name}"
        names = overload_names(qualified)
        if not names:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        packet = OpOverloadPacket(qualified, names)
        setattr(self, op_name, packet)
        self._dir.append(op_name)
        return packet


class _Ops(ModuleType):
    """The class of ``torch.ops``."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()
        self._dir: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, name: str) -> _OpNamespace:
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        self._dir.append(name)
        return namespace

    def load_library(self, path: str) -> NoReturn:
        """Raise OSError: the model has no C++ side with which a shared library could register."""
        reason = RuntimeError("dispatchviz models PyTorch in Python and cannot load libraries for PyTorch's C++ side")
        raise OSError(f"Could not load this library: {os.path.realpath(path)}") from reason


ops = _Ops()


def overload_of(entry: OperatorEntry) -> OpOverload:
    """Return the OpOverload of an operator, as Python fallbacks and modes receive it."""
    namespace, _, rest = entry.name.partition("::")
    base, _, overload = rest.partition(".")
    found: OpOverload = getattr(getattr(getattr(ops, namespace), base), overload or "default")
    return found


def refresh(qualified_name: str) -> None:
    """Add a new overload to a packet that exists already."""
    namespace, _, base = qualified_name.partition("::")
    packet = vars(getattr(ops, namespace)).get(base)
    if packet is not None:
        packet._overload_names = overload_names(qualified_name)


def forget(name: str) -> None:
    """Forget an operator that is destroyed. Its packet is created again on its next use."""
    namespace, _, rest = name.partition("::")
    space = getattr(ops, namespace)
    base = rest.partition(".")[0]
    if base in vars(space):
        delattr(space, base)
        space._dir.remove(base)
