"""Kernels that Python registered under the very key of a cell.

PyTorch keeps such a function a second time, by operator and key, and calls that one where a mode or a tensor with the
Python key is met: ours is then what it keeps. So ours calls the function itself, and puts it back in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Function = Callable[..., Any]
Found = tuple[Function, bool]
"""A function, and whether it takes the key set first."""


class Registered(NamedTuple):
    """A function that the program registered, and the ``id`` of its library's C++ object."""

    function: Function
    with_keys: bool
    library: int


class PythonKernels:
    """The functions behind such kernels, as far as they are known."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._known: dict[tuple[str, str], list[Registered]] = {}
        """By operator and key, the newest first."""
        self.put: dict[tuple[str, str], Found] = {}
        """Those that ours stand in front of."""

    def registered(self, operator: str, key: str, registered: Registered) -> None:
        """The program registers one."""
        self._known.setdefault((operator, key), []).insert(0, registered)

    def gone(self, library: int) -> None:
        """A library goes, with its kernels."""
        for known in self._known.values():
            known[:] = [one for one in known if one.library != library]

    def names(self, operator: str, key: str) -> list[str]:
        """Of the functions that the program registered there, the newest first, as PyTorch's errors call a function."""
        known = self._known.get((operator, key), ())
        return [getattr(one.function, "__name__", type(one.function).__name__) for one in known]

    def find(self, operator: str, key: str) -> Found | None:
        """The function in a cell; None if it is not known."""
        known = self._known.get((operator, key))
        if known:
            return known[0].function, known[0].with_keys
        if key != "Meta":
            return None
        namespace, _, name = operator.partition("::")
        name, _, overload = name.partition(".")
        packet = getattr(getattr(self._torch.ops, namespace), name)
        function = getattr(packet, overload or "default").py_kernels.get(self._torch._C.DispatchKey.Meta)
        return None if function is None else (function, False)

    def restore(self) -> None:
        """Let PyTorch keep the functions again; ours are out of the cells."""
        for (operator, key), (function, with_keys) in self.put.items():
            library = self._torch._C._dispatch_library("FRAGMENT", operator.partition("::")[0], "", __file__, 0)
            library.impl(operator, key, function, with_keys)
        self.put.clear()


def caller(found: Found) -> Function:
    """What calls the function as a kernel is called, with the key set."""
    function, with_keys = found
    return function if with_keys else lambda keys, *args, **kwargs: function(*args, **kwargs)
