"""Kernels that Python registered under the exact key of a cell.

PyTorch keeps such functions a second time, by operator and key, and calls that copy for a mode or a tensor with the
Python key. With our kernel in the cell, ours is the copy. So ours calls the function itself, and PyTorch gets the
function back in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.kernel.kernel_names import function_name
from dispatchviz.live.early_kernels import EARLY, KernelFunctions

Function = Callable[..., Any]
Found = tuple[Function, bool]
"""A function, and whether it takes the key set first."""


class PythonKernels(KernelFunctions):
    """The functions behind these kernels, as far as they are known."""

    def __init__(self, torch: Any) -> None:
        super().__init__(EARLY.known)
        self._torch = torch
        self.put: dict[tuple[str, str], Found] = {}
        """Functions that our kernels replace."""

    def names(self, operator: str, key: str) -> list[str]:
        """Return the names of the functions that the program registered for an operator and a key, newest first, as
        PyTorch's errors name a function.
        """
        known = self.known.get((operator, key), ())
        return [function_name(one.function) for one in known]

    def find(self, operator: str, key: str) -> Found | None:
        """Return the function in a cell, or None if it is not known."""
        known = self.known.get((operator, key))
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
        """Give PyTorch the functions back, once ours are out of the cells."""
        for (operator, key), (function, with_keys) in self.put.items():
            library = self._torch._C._dispatch_library("FRAGMENT", operator.partition("::")[0], "", __file__, 0)
            library.impl(operator, key, function, with_keys)
        self.put.clear()


def caller(found: Found) -> Function:
    """Return a function that calls the registered one as a kernel is called, with the key set."""
    function, with_keys = found
    return function if with_keys else lambda keys, *args, **kwargs: function(*args, **kwargs)
