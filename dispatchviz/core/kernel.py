"""One kernel: a function that fills a cell, and what is known of it (``ATen/core/boxing/KernelFunction.h``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, eq=False)
class Kernel:
    """A registered kernel; two are the same only if they are one object.

    An unboxed kernel is called as ``function(ks, *args)`` with all schema arguments, a boxed one as
    ``function(op, ks, stack)``. A kernel that only PyTorch has carries PyTorch's facts and no function.
    """

    name: str
    """In PyTorch's words: ``wrapper_CPU_add_Tensor``, ``VariableType::add_Tensor``."""
    function: Callable[..., Any] | None
    debug: str
    """Where it was registered, as PyTorch's dump says it."""
    boxed: bool = False
    fallthrough: bool = False
    unboxed: bool = True
    """It also has a typed form (dumps say so)."""

    @cached_property
    def file(self) -> str:
        """The file of PyTorch in which it is registered; empty if unknown."""
        match = re.search(r"registered at ([^:\s]+)", self.debug)
        return match[1] if match else ""
