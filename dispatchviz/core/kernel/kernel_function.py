"""A kernel: its function, name, registration and signature (``ATen/core/boxing/KernelFunction.h``).

Not here: running a kernel of one calling convention in the other (``boxing.py``), PyTorch's names of its kernels
(``pytorch_registrations.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dispatchviz.core.kernel.cpp_signature import CppSignature
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.foundation.unlocked_property import cached_property

_PLACE = re.compile(r"registered at (.+?)(?::\d+)?$")
"""The place of a registration: a file, whose name may contain blanks, and a line."""


class Deferred:
    """The function of a kernel that is looked up on first use. Most kernels of a program's operators never run, and
    looking one up loads its module.
    """

    __slots__ = ("find",)

    def __init__(self, find: Callable[[], Callable[..., Any] | None]) -> None:
        self.find = find


class Kernel:
    """A registered kernel, which never changes. Kernels are compared by identity.

    A typed kernel is called as ``function(ks, *args)`` with all schema arguments in order. A boxed one is called as
    ``function(op, ks, stack)``: it pops its arguments and pushes its returns. A kernel that only PyTorch has carries
    PyTorch's facts and no function.
    """

    def __init__(
        self,
        name: str,
        given: Callable[..., Any] | Deferred | None,
        debug: str,
        boxed: bool = False,
        fallthrough: bool = False,
        unboxed: bool = True,
        signature: bool | None = None,
        pointer: object = None,
        cpp: CppSignature | None = None,
        python: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        """PyTorch's name of the kernel: ``wrapper_CPU_add_Tensor``, ``VariableType::add_Tensor``."""
        self.given = given
        """The kernel's function, or the way to find it."""
        self.debug = debug
        """The place of its registration, as PyTorch's dump prints it."""
        self.boxed = boxed
        """True if the kernel has only the boxed form: Python kernels and fallbacks. It then has no signature of its
        own.
        """
        self.fallthrough = fallthrough
        """True for a fallthrough kernel: its key leaves the operator's mask."""
        self.unboxed = unboxed
        """True if it has a typed form without symbolic sizes. Dumps print that."""
        self.signature = signature
        """True if PyTorch's kernel has a C++ signature; None: the opposite of ``boxed``. It may be boxed here although
        it is typed in PyTorch.
        """
        self.pointer = pointer
        """A stand-in for its C++ function pointer, if several kernels share one, as all Python kernels do."""
        self.cpp = cpp
        """Its C++ signature, if it may differ from that of its operator. Those are checked."""
        self.python = python
        """For a Python kernel of one operator: the function, called as ``python(ks, *args, **kwargs)`` with Python
        objects.
        """

    def with_function(self, given: Callable[..., Any] | Deferred, boxed: bool | None = None) -> Kernel:
        """A copy with another function, of the boxed or the typed form; None keeps the form."""
        form = self.boxed if boxed is None else boxed
        facts = self.fallthrough, self.unboxed, self.signature, self.pointer, self.cpp
        return Kernel(self.name, given, self.debug, form, *facts)

    @cached_property
    def function(self) -> Callable[..., Any] | None:
        """The function to run; None for a kernel that only PyTorch has."""
        return self.given.find() if isinstance(self.given, Deferred) else self.given

    @cached_property
    def file(self) -> str:
        """The file of PyTorch in which it is registered; empty if unknown."""
        match = _PLACE.search(self.debug)
        return match[1] if match else ""

    @property
    def identity(self) -> object:
        """The value that ``_equalsBoxedAndUnboxed`` compares. For Python kernels it does not depend on the function."""
        return self if self.pointer is None else self.pointer

    @property
    def typed(self) -> bool:
        """True if PyTorch's kernel has a C++ signature."""
        return self.signature if self.signature is not None else not (self.boxed or self.fallthrough)

    def row(self, schema: FunctionSchema | None) -> str:
        """The kernel's part of a line of ``_dispatch_dump``: ``DEBUG :: SCHEMA [ fallthrough boxed unboxed ]``."""
        flags = ["fallthrough"] * self.fallthrough + ["boxed"] + ["unboxed"] * (self.typed and self.unboxed)
        return f"{self.debug} :: {self._inferred(schema)} [ {' '.join(flags)} ]"

    def _inferred(self, schema: FunctionSchema | None) -> str:
        if self.cpp is not None:
            return str(self.cpp.schema)
        return inferred_signature(schema, not self.unboxed) if self.typed and schema is not None else "(none)"


def inferred_signature(schema: FunctionSchema, symbolic: bool) -> str:
    """The schema that PyTorch infers from a typed kernel's C++ signature: ``(Tensor _0, Scalar _1) -> Tensor _0``."""
    arguments = ", ".join(f"{_inferred_type(a.type, symbolic)} _{i}" for i, a in enumerate(schema.arguments))
    only_returned = not any("SymInt" in a.type for a in schema.arguments)  # which plain integers cannot represent
    types = [f"{_inferred_type(r.type, symbolic or only_returned)} _{i}" for i, r in enumerate(schema.returns)]
    returns = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return f"({arguments}) -> {returns}"


def _inferred_type(type_: str, symbolic: bool) -> str:
    """The type in a C++ signature: no list lengths, and ``int`` for ``SymInt`` in kernels of plain integers."""
    return re.sub(r"\[\d+\]", "[]", type_ if symbolic else type_.replace("SymInt", "int"))
