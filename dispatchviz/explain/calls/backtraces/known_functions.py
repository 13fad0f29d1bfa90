"""PyTorch functions that are the same for every operator: the file and role of each, in the words of the model's
stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from dispatchviz.explain.calls.binding_frames import TORCH_OPS
from dispatchviz.explain.calls.call_stack import CALLS_PYTHON, NODES_OWN
from dispatchviz.explain.calls.engine_frames import BEFORE, CALLS_NODE, ON_CALLER, ON_DEVICE
from dispatchviz.explain.calls.hook_frames import CALLERS, CALLS_HOOKS, PYTHON_HOOK
from dispatchviz.explain.calls.kernel_frames import STUBS
from dispatchviz.explain.calls.whole_stack import (
    BOXED_FUNCTION,
    FALLBACKS,
    FROM_STACK,
    FROM_TYPED,
    FUNCTOR,
    INNER,
    PYTHON_KERNEL,
)
from dispatchviz.explain.locations.pytorch_locations import ENGINE, apply_function

METHODS = ("call", "redispatch", "callBoxed", "redispatchBoxed")
"""The methods of handles and of the dispatcher."""

NODES = ("AccumulateGrad", "CopyBackwards", "CopySlices", "GraphRoot", "DelayedError", "UndefinedGradBackward", "Error")
"""The hand-written Nodes."""

PYTHON_FUNCTION = "torch/csrc/autograd/python_function.cpp"


class Known(NamedTuple):
    """The known facts about a function."""

    title: str
    """The title in the model's stack."""
    file: str
    role: str


@cache
def known_functions() -> Mapping[str, Known]:
    """The known functions, by plain name."""
    return {known.title: known for known in _all()}


def _all() -> Iterator[Known]:
    yield from _dispatchers()
    yield from _engines()
    for title, file, _ in TORCH_OPS:
        yield Known(title, file, "binding")
    for title, file in FALLBACKS.values():
        yield Known(title, file, "autograd kernel")
    for stub in STUBS.values():
        yield from (Known(*each) for each in stub)


def _dispatchers() -> Iterator[Known]:
    shared = (part for parts in INNER.values() for part in parts)
    for part in (*shared, *FROM_TYPED, *FROM_STACK, FUNCTOR, BOXED_FUNCTION, PYTHON_KERNEL):
        yield from (Known(part.function.format(how=how), part.file, part.role) for how in METHODS)


def _engines() -> Iterator[Known]:
    for part in (*BEFORE, *ON_CALLER, *ON_DEVICE, CALLS_NODE):
        yield Known(*part)
    for name in ("execute", "evaluate_function"):
        yield Known(f"torch::autograd::Engine::{name}", ENGINE, "engine")
    for node in (*(f"torch::autograd::{name}" for name in NODES), "MyBackward"):
        yield Known(*apply_function(node), NODES_OWN)
    yield Known("THPFunction_apply", PYTHON_FUNCTION, "custom Function")
    for caller in CALLERS.values():
        yield Known(caller.function, PYTHON_HOOK, CALLS_PYTHON)
        yield from [Known(*caller.around, CALLS_PYTHON)] if caller.around else []
    yield Known(*CALLS_HOOKS, CALLS_PYTHON)
