"""The names that exist: operators, keys, kernels and Nodes of PyTorch, and those of the program's own libraries.

A recording of an installed PyTorch also has the names that its process has now: operators of libraries, kernels that
Python registered, Nodes of custom Functions.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any

from dispatchviz.core.kernel.kernel_names import FALLBACKS, FALLTHROUGH, LAMBDA, NOT_IMPLEMENTED, function_name
from dispatchviz.core.keys.keys import RUNTIME_KEYS
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.registry import process
from dispatchviz.explain.keys.key_names import NAMES as KEYS
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.testing.golden_levels import is_own_operator
from dispatchviz.testing.trace_text import short_node

FALLBACK_KERNELS = {*FALLBACKS.values(), *NOT_IMPLEMENTED.values(), FALLTHROUGH, LAMBDA, "autograd_fallback"}

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


def existing(trace: Trace, kind: str, name: str) -> Collection[str]:
    """Return the names of a kind: ``operator``, ``key``, ``any key``, ``kernel``, ``Node``, ``short Node``. For a
    kernel, these are only names that ``name`` may mean.
    """
    match kind:
        case "operator":
            return {*_operators(), *_installed_operators(trace)}
        case "key":
            return [key.name for key in RUNTIME_KEYS]
        case "any key":
            return [key.name for key in KEYS.values()]
        case "kernel":
            return FALLBACK_KERNELS | set(_kernels(name)) | {name for _, name in _python_kernels(trace)}
        case "Node":
            nodes = _nodes(trace)
            return nodes | set(map(plain_node, nodes))
    return {short_node(node) for node in _nodes(trace)}


def _nodes(trace: Trace) -> set[str]:
    operators = filter(is_own_operator, existing(trace, "operator", ""))
    return {*_models_nodes(), *_installed_nodes(trace), *map(_generated_node, operators)}


def _generated_node(operator: str) -> str:
    """Return the Node that ``torch.library.register_autograd`` makes for an operator."""
    namespace, _, name = operator.partition("::")
    base, _, overload = name.partition(".")
    return f"GeneratedBackwardFor_{namespace}_{base}_{overload or 'default'}Backward"


# -- the model, which knows all names of PyTorch 2.14 -----------------------------------------------------------------


def _operators() -> Collection[str]:
    importlib.import_module("dispatchviz.torch")  # registers the operators of the process
    return process.operators


def _kernels(name: str) -> Iterator[str]:
    """Yield the kernels of operators that a kernel's name may mean, as PyTorch names kernels, and those of the
    program's own operators.
    """
    named = [op for op in _operators() if op.partition("::")[2].partition(".")[0] in name]
    made = [op.name for op in process.operators.made()]
    for operator in {*named, *made}:
        yield from _registered(operator)


def _registered(operator: str) -> Iterator[str]:
    for kernels in process.operators[operator].registrations.values():
        yield from (kernel.name for kernel in kernels)


def operators_with(trace: Trace, kernel: str) -> set[str]:
    """Return the program's own operators that have a kernel of this name."""
    own = {op.name for op in process.operators.made() if is_own_operator(op.name) and kernel in _registered(op.name)}
    return own | {operator for operator, name in _python_kernels(trace) if name == kernel}


_BEFORE_NAME = re.compile(r"^(?:\w+::)?(?:wrapper_[A-Za-z]+_+)?")
"""The part of a kernel's name before its operator's: ``VariableType::``, ``wrapper_CPU_``."""


def close_kernels(name: str) -> Iterator[str]:
    """Yield the kernels of PyTorch's operators whose name is close to that in an unknown kernel's name."""
    known = _by_identifier()
    for one in difflib.get_close_matches(_BEFORE_NAME.sub("", name), known, 3, 0.7):
        yield from _registered(known[one])


@cache
def _by_identifier() -> dict[str, str]:
    """Return PyTorch's operators by the name that their kernels have: ``add_Tensor``."""
    return {name.partition("::")[2].replace(".", "_"): name for name in _operators() if not is_own_operator(name)}


def _models_nodes() -> Iterator[str]:
    from dispatchviz.core.autograd.graph.node import Node

    importlib.import_module("dispatchviz.torch")
    for module in NODE_MODULES:
        getattr(importlib.import_module(f"dispatchviz.core.{module}"), "__doc__")  # noqa: B009 # loads it
    return (node.cpp_name or node.__name__ for node in _subclasses(Node))


def _subclasses(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


# -- an installed PyTorch ---------------------------------------------------------------------------------------------


def _installed(trace: Trace) -> Any:
    """Return the module ``torch`` that a trace is from, if this process has imported it, else None."""
    torch = sys.modules.get("torch")
    return torch if trace.header.engine == "torch" and hasattr(torch, "_C") else None


def _installed_operators(trace: Trace) -> Iterable[str]:
    torch = _installed(trace)
    return () if torch is None else torch._C._dispatch_get_all_op_names()


def _python_kernels(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield the operators and names of the kernels that Python registered, as far as the process followed them."""
    if _installed(trace) is not None:
        from dispatchviz.live.early_kernels import EARLY

        for (operator, _), kernels in EARLY.known.items():
            yield from ((operator, function_name(one.function)) for one in kernels)


def _installed_nodes(trace: Trace) -> Iterator[str]:
    """Yield the names of the Nodes of custom Functions."""
    torch = _installed(trace)
    if torch is not None:
        yield from (node.__name__ for node in _subclasses(torch.autograd.function.BackwardCFunction))
