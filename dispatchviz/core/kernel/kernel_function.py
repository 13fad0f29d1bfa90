"""A kernel: a cell's function, its name, registration and signature (``ATen/core/boxing/KernelFunction.h``).

Not here: running a kernel of one calling convention in the other (``boxing.py``), what PyTorch calls its kernels
(``pytorch_registrations.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dispatchviz.core.kernel.cpp_signature import CppSignature
from dispatchviz.core.schema.function_schema import FunctionSchema


class Deferred:
    """The function of a kernel that is found when it is first needed: most kernels of a program's operators never run,
    and finding one loads the module that it is in."""

    __slots__ = ("find",)

    def __init__(self, find: Callable[[], Callable[..., Any] | None]) -> None:
        self.find = find


@dataclass(frozen=True, eq=False)
class Kernel:
    """A registered kernel; two are the same only if they are one object.

    A typed kernel is called as ``function(ks, *args)`` with all schema arguments in order, a boxed one as
    ``function(op, ks, stack)``: it pops its arguments and pushes its returns. A kernel that only PyTorch has carries
    PyTorch's facts and no function.
    """

    name: str
    """As PyTorch names it: ``wrapper_CPU_add_Tensor``, ``VariableType::add_Tensor``."""
    given: Callable[..., Any] | Deferred | None
    """Its function, or how to find it."""
    debug: str
    """Where it was registered, as PyTorch's dump says it."""
    boxed: bool = False
    """It has the boxed form alone: Python kernels, fallbacks. Such a kernel has no signature of its own."""
    fallthrough: bool = False
    """A fallthrough kernel: its key leaves the operator's mask."""
    unboxed: bool = True
    """It has a typed form without symbolic sizes; dumps say so."""
    signature: bool | None = None
    """PyTorch's kernel has a C++ signature; None: as ``boxed`` says. It need not be boxed here because it is there."""
    pointer: object = None
    """What stands for its C++ function pointer, if several kernels share one, as all Python kernels do."""
    cpp: CppSignature | None = None
    """Its C++ signature, if that need not be the one of its operator: those are checked."""

    @cached_property
    def function(self) -> Callable[..., Any] | None:
        """What runs; None for a kernel that only PyTorch has."""
        return self.given.find() if isinstance(self.given, Deferred) else self.given

    @cached_property
    def file(self) -> str:
        """The file of PyTorch in which it is registered; empty if unknown."""
        match = re.search(r"registered at ([^:\s]+)", self.debug)
        return match[1] if match else ""

    @property
    def identity(self) -> object:
        """What ``_equalsBoxedAndUnboxed`` compares: for Python kernels not which function it is."""
        return self if self.pointer is None else self.pointer

    @property
    def typed(self) -> bool:
        """PyTorch's kernel has a C++ signature."""
        return self.signature if self.signature is not None else not (self.boxed or self.fallthrough)

    def row(self, schema: FunctionSchema | None) -> str:
        """Its part of a line of ``_dispatch_dump``: ``DEBUG :: SCHEMA [ fallthrough boxed unboxed ]``."""
        flags = ["fallthrough"] * self.fallthrough + ["boxed"] + ["unboxed"] * (self.typed and self.unboxed)
        return f"{self.debug} :: {self._inferred(schema)} [ {' '.join(flags)} ]"

    def _inferred(self, schema: FunctionSchema | None) -> str:
        if self.cpp is not None:
            return str(self.cpp.schema)
        return inferred_signature(schema, not self.unboxed) if self.typed and schema is not None else "(none)"


def inferred_signature(schema: FunctionSchema, symbolic: bool) -> str:
    """The schema that PyTorch infers from a typed kernel's C++ signature: ``(Tensor _0, Scalar _1) -> Tensor _0``."""
    arguments = ", ".join(f"{_inferred_type(a.type, symbolic)} _{i}" for i, a in enumerate(schema.arguments))
    only_returned = not any("SymInt" in a.type for a in schema.arguments)  # which plain integers cannot stand for
    types = [f"{_inferred_type(r.type, symbolic or only_returned)} _{i}" for i, r in enumerate(schema.returns)]
    returns = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return f"({arguments}) -> {returns}"


def _inferred_type(type_: str, symbolic: bool) -> str:
    """The type in a C++ signature: no list lengths, and ``int`` for ``SymInt`` in kernels of plain integers."""
    return re.sub(r"\[\d+\]", "[]", type_ if symbolic else type_.replace("SymInt", "int"))
