"""Check that the names in a pattern exist: an event with a misspelled name never happens, so a test that expects none
would always pass.

A name exists if it is in the trace, if PyTorch has it, or if a library of the program has already registered it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from dispatchviz.core.kernel.kernel_names import FALLBACKS, FALLTHROUGH, NOT_IMPLEMENTED
from dispatchviz.core.keys.keys import RUNTIME_KEYS
from dispatchviz.core.record.events import Dispatched, KernelSelected, NodeCreated, NodeStarted
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.registry import process
from dispatchviz.explain.cells.operator_names import USUAL, close_operators, find_operator, joined
from dispatchviz.explain.keys.key_names import NAMES as KEYS
from dispatchviz.explain.keys.key_names import runtime_keys
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.testing.failures import without_log
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_text import short_node

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node

FALLBACK_KERNELS = {*FALLBACKS.values(), *NOT_IMPLEMENTED.values(), FALLTHROUGH, "autograd_fallback"}


def check_names(trace: Trace, patterns: Iterable[Pattern]) -> None:
    """Raise ValueError, with similar names, for a pattern with a name that does not exist."""
    __tracebackhide__ = True
    for pattern in patterns:
        for field, name in pattern.fields.items():
            kind = _kind(pattern, field)
            if kind and isinstance(name, str):
                check_name(trace, kind, name, f"{pattern!r}: ")


def check_name(trace: Trace, kind: str, name: str, where: str = "") -> None:
    """Check a name of a kind: ``operator``, ``key``, ``any key``, ``kernel``, ``Node``, ``short Node``. Raise
    ValueError if it does not exist.
    """
    __tracebackhide__ = True
    known = _KNOWN[kind](name)
    if name not in known and name not in _in_trace(trace, kind):
        raise without_log(ValueError(f"{where}{_refusal(kind, name, known)}"))


def _refusal(kind: str, name: str, known: Collection[str]) -> str:
    if kind == "key" and name.lower() in KEYS:
        keys = [key.name for key in runtime_keys([name])]
        return f"no call is dispatched to {name!r}, but to {', '.join(keys[:3])}{' ...' * (len(keys) > 3)}"
    near = " or ".join(near_names(kind, name, known))
    hint = f"; did you mean {near}?" if near else ""
    return f"there is no {kind.removeprefix('any ').removeprefix('short ')} {name!r}{hint}"


def near_names(kind: str, name: str, known: Collection[str]) -> list[str]:
    """Return the names that an unknown name may have meant, the best one first."""
    same = [each for each in known if each.casefold() == name.casefold()]
    meant = _meant_operator(name, known) if kind == "operator" else []
    return same or meant or difflib.get_close_matches(name, known, 3, 0.5)


def _meant_operator(name: str, known: Collection[str]) -> list[str]:
    """Return the operators that an incomplete name means, such as ``add``, ``torch.add`` and ``aten::add``."""
    try:
        return [find_operator(name, known).name]
    except DispatchvizError:
        bases = [] if "." in name.partition("::")[2] else close_operators(name, known)
        return [_one_of(base, known) for base in bases]


def _one_of(base: str, known: Collection[str]) -> str:
    """Return the most common overload, else the first."""
    usual = (full for full in (joined(base, overload) for overload in USUAL) if full in known)
    return next(usual, "") or min(name for name in known if name.startswith(f"{base}."))


def _kind(pattern: Pattern, field: str) -> str:
    """Return the kind of name in a field; empty if the field can be anything."""
    if field == "name":
        return "Node" if pattern.kind in (NodeCreated, NodeStarted) else ""
    if field == "key":
        return "key" if pattern.kind in (Dispatched, KernelSelected) else "any key"
    return field if field in ("operator", "kernel") else ""


def _in_trace(trace: Trace, kind: str) -> set[object]:
    """Return the names of that kind in the events of a trace."""
    if kind == "short Node":
        return {short_node(event.name) for event in trace if isinstance(event, NodeCreated | NodeStarted)}
    field = {"Node": "name", "any key": "key"}.get(kind, kind)
    return {getattr(event, field, None) for event in trace}


# -- existing names ---------------------------------------------------------------------------------------------------


def _operators(name: str) -> Collection[str]:
    importlib.import_module("dispatchviz.torch")  # registers the operators of the process
    return process.operators


def _keys(name: str) -> Collection[str]:
    return [key.name for key in RUNTIME_KEYS]


def _any_keys(name: str) -> Collection[str]:
    return [key.name for key in KEYS.values()]


def _kernels(name: str) -> Collection[str]:
    """Return the kernels of operators whose name is part of the kernel's name, as PyTorch names kernels, and those of
    the program's own operators.
    """
    named = [op for op in _operators("") if op.partition("::")[2].partition(".")[0] in name]
    made = [op.name for op in process.operators.made()]
    return FALLBACK_KERNELS | {kernel for op in {*named, *made} for kernel in _registered(op)}


def _registered(operator: str) -> Iterator[str]:
    for kernels in process.operators[operator].registrations.values():
        yield from (kernel.name for kernel in kernels)


NODE_MODULES = (
    "autograd.engine.compiled_autograd",
    "autograd.function.python_function",
    "autograd.graph.accumulate_grad",
    "autograd.graph.basic_nodes",
    "autograd.graph.copy_nodes",
    "autograd.graph.list_nodes",
    "autograd.kernels.autograd_fallback",
    "generated.nodes",
)
"""The modules of the model that define Nodes. They load on first use, and a test may not have used them."""


def _nodes(name: str) -> Collection[str]:
    from dispatchviz.core.autograd.graph.node import Node

    importlib.import_module("dispatchviz.torch")
    for module in NODE_MODULES:
        getattr(importlib.import_module(f"dispatchviz.core.{module}"), "__doc__")  # noqa: B009 # loads it
    return {node.cpp_name or node.__name__ for node in _subclasses(Node)}


def _short_nodes(name: str) -> Collection[str]:
    return {short_node(node) for node in _nodes(name)}


def _subclasses(kind: type[Node]) -> Iterator[type[Node]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


_KNOWN: dict[str, Callable[[str], Collection[str]]] = {
    "operator": _operators,
    "key": _keys,
    "any key": _any_keys,
    "kernel": _kernels,
    "Node": _nodes,
    "short Node": _short_nodes,
}
