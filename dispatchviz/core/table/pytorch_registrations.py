"""PyTorch's own registrations: the kernels that an unmodified PyTorch registers for each key of each operator.

``truth/recorders/dispatch_tables.py`` writes the data (``native/registrations.txt``) from an installed PyTorch, and
``truth/formats/registrations_file.py`` has its format. Kernels have PyTorch's facts and no function. Code that
implements a kernel replaces it by a copy with a function (``native_library.py``). This module does not need NumPy, and
looking up an operator creates only that operator.

A *build* is the configuration for which PyTorch was compiled: ``cpu``, or ``cuda``, which has kernels for CUDA's keys
too.
NB: in PyTorch, if Triton is installed, ``torch/_native`` puts a Python kernel in front of CUDA's ``aten::bmm``; not so
here.

Not here: PyTorch's names of kernels (``kernel_names.py``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.kernel.kernel_names import FALLTHROUGH, fallback_name, kernel_name
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.operator_entry import FROM_SCHEMA
from dispatchviz.core.table.registrations_text import RegistrationsText, Row
from dispatchviz.core.table.registry import Registry
from dispatchviz.foundation.errors import DispatchvizError

BOXED, UNBOXED, FALLS_THROUGH, TYPED = 1, 2, 4, 8
"""Flags of a registration: a boxed form, a typed form without symbolic sizes, a fallthrough, a C++ signature."""

BUILDS = ("cpu", "cuda")
DEFAULT_BUILD = "cuda"
VARIABLE = "DISPATCHVIZ_BUILD"
"""The environment variable that chooses the build of the process."""


class BuildError(DispatchvizError, ValueError):
    """The error for a build of PyTorch that does not exist here."""


def chosen_build(name: str | None = None) -> str:
    """Return the build ``name``, or the one that the environment names. Raise BuildError, with the valid names, for any
    other.
    """
    build = name or os.environ.get(VARIABLE) or DEFAULT_BUILD
    if build not in BUILDS:
        where = "" if name else f" (environment variable {VARIABLE})"
        raise BuildError(f"unknown build {build!r}{where}: it is {' or '.join(BUILDS)}")
    return build


NATIVE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "native")
"""The folder of the data."""


@cache
def newest() -> RegistrationsText:
    """The registrations of the model's release."""
    with open(os.path.join(NATIVE, "registrations.txt"), encoding="utf-8") as file:
        return RegistrationsText(file.read())


def pytorch_version() -> str:
    """The PyTorch release of the registrations."""
    return newest().torch


def pytorch_operators() -> Collection[str]:
    """The full names of all operators. Overloads of one name are in the order in which PyTorch tries them."""
    return newest().lines.keys()


def registering_files() -> Collection[str]:
    """The files in which PyTorch registers kernels and fallbacks, without line numbers."""
    return newest().files


def pytorch_schema(name: str) -> str:
    """The schema as PyTorch prints it. Raise KeyError if there is no such operator."""
    return newest().operator(name).schema


def is_structured(name: str) -> bool:
    """Return whether the operator's kernels are generated from a meta and an impl function; False if it is unknown."""
    return name in newest().lines and "s" in newest().operator(name).marks


def pytorch_registrations(name: str, build: str | None = None) -> Iterator[tuple[DispatchKey, Kernel]]:
    """Yield PyTorch's kernels of an operator, newest first for each key; none if it is unknown. Raise BuildError if
    there is no such build.
    """
    data, cuda = newest(), chosen_build(build) == "cuda"
    if name in data.lines:
        yield from ((DispatchKey[row.key], kernel) for row, kernel in named_kernels(data, name, cuda))


def named_kernels(text: RegistrationsText, name: str, cuda: bool) -> Iterator[tuple[Row, Kernel]]:
    """Yield the registrations of an operator in a text, newest first for each key, with their kernels. Raise KeyError
    if there is no such operator.
    """
    operator = text.operator(name)
    rows = [*text.rows(operator.rows), *(text.rows(operator.cuda) if cuda else ())]
    structured = "s" in operator.marks
    composite = any(row.key == "CompositeImplicitAutograd" for row in rows)
    for row in rows:
        key, debug, flags = row
        through, boxed = flags & FALLS_THROUGH, not flags & TYPED
        called = FALLTHROUGH if through else kernel_name(operator.schema, key, debug, structured, boxed, composite)
        yield row, _kernel(called, debug, flags)


def operators_with(key: DispatchKey, build: str | None = None) -> frozenset[str]:
    """The full names of operators with a registration for a key or alias itself. Raise BuildError if there is no such
    build.
    """
    return newest().operators_with(key.name, chosen_build(build) == "cuda")


def pytorch_fallbacks() -> Iterator[tuple[DispatchKey, Kernel]]:
    """Yield PyTorch's 38 backend fallbacks."""
    return ((DispatchKey[row.key], kernel) for row, kernel in named_fallbacks(newest()))


def named_fallbacks(text: RegistrationsText) -> Iterator[tuple[Row, Kernel]]:
    """Yield the backend fallbacks in a text with their kernels."""
    for row in text.rows(text.fallbacks):
        yield row, _kernel(fallback_name(row.key, bool(row.flags & FALLS_THROUGH)), row.debug, row.flags)


def _kernel(name: str, debug: str, flags: int) -> Kernel:
    return Kernel(
        name,
        None,
        debug,
        boxed=not flags & TYPED,
        fallthrough=bool(flags & FALLS_THROUGH),
        unboxed=bool(flags & UNBOXED),
        signature=bool(flags & TYPED),
    )


class PyTorch:
    """The operators of a build, as a registry's stock. Raise BuildError if there is no such build.

    ``text`` has the registrations of another release. Kernels under keys that the model does not have are left out.
    """

    def __init__(self, build: str | None = None, text: RegistrationsText | None = None) -> None:
        self.build = chosen_build(build)
        self._text = text or newest()

    def names(self) -> Collection[str]:
        """Return the full names of all operators."""
        return self._text.lines.keys()

    def owners(self) -> Mapping[str, str]:
        """Return the namespaces, with the place where the DEF library of each was made."""
        return self._text.owners

    def schema(self, name: str) -> FunctionSchema:
        """Return the schema. Like the methods below, raise KeyError if there is no such operator."""
        return parse_schema(self._text.operator(name).schema)

    def debug(self, name: str) -> str:
        """Return the place of the definition."""
        return self._text.defined(name)

    def alias_analysis(self, name: str) -> str:
        """Return the kind of alias analysis, as dumps print it."""
        return self._text.operator(name).alias_analysis or FROM_SCHEMA

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Return PyTorch's kernels per key or alias, newest first."""
        found: dict[DispatchKey, list[Kernel]] = {}
        for row, kernel in named_kernels(self._text, name, self.build == "cuda"):
            if row.key in DispatchKey.__members__:
                found.setdefault(DispatchKey[row.key], []).append(kernel)
        return found


def pytorch_registry(build: str | None = None) -> Registry:
    """Return a new registry with exactly the registrations of a build of PyTorch. Raise BuildError if there is no such
    build.
    """
    registry = Registry()
    registry.adopt(PyTorch(build))
    registry.set_fallbacks(dict(pytorch_fallbacks()))
    return registry


def implemented(name: str) -> frozenset[DispatchKey]:
    """The keys and aliases for which dispatchviz has a function of its own for an operator."""
    return _implemented().get(name.removeprefix("aten::"), frozenset())


@cache
def _implemented() -> dict[str, frozenset[DispatchKey]]:
    """The operators, without ``aten::``, and their keys."""
    from dispatchviz.core.generated.implemented import KERNELS  # that file is read off the registrations of this module

    sets = [(frozenset(DispatchKey[key] for key in keys.split()), names) for keys, names in KERNELS.items()]
    return {name: keys for keys, names in sets for name in names.split()}


def implemented_fallbacks() -> frozenset[DispatchKey]:
    """Keys whose backend fallback dispatchviz implements."""
    from dispatchviz.core.generated.implemented import FALLBACKS

    return frozenset(DispatchKey[key] for key in FALLBACKS.split())


@cache
def boxed_kernels() -> frozenset[str]:
    """PyTorch's names of the boxed kernels that dispatchviz implements: ``amin (BatchRulesReduceOps.cpp)``."""
    from dispatchviz.core.generated.implemented import BOXED_KERNELS

    return frozenset(f"{name} {file}".rstrip() for file, names in BOXED_KERNELS.items() for name in names.split())
