"""The callers of the program's hooks during a backward pass, and the hook that a line of the program belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.locations.pytorch_locations import ENGINE
from dispatchviz.explain.trace_index.enclosing_steps import user_stack

PYTHON_HOOK = "torch/csrc/autograd/python_hook.cpp"


class Caller(NamedTuple):
    """The caller of the hooks of a kind."""

    function: str
    in_apply: bool = False
    """True if the Node's own function calls it, not ``evaluate_function``."""
    around: tuple[str, str] | None = None
    """The function and file between that function and ``evaluate_function``, if there is one."""


CALLERS: Mapping[str, Caller] = {
    "tensor pre hook": Caller(
        "torch::autograd::PyFunctionTensorPreHook::operator()",
        around=("torch::autograd::call_tensor_pre_hooks", ENGINE),
    ),
    "pre hook": Caller("torch::autograd::PyFunctionPreHook::operator()"),
    "post hook": Caller("torch::autograd::PyFunctionPostHook::operator()"),
    "post-accumulate hook": Caller("torch::autograd::PyFunctionTensorPostAccGradHooks::operator()", in_apply=True),
}
"""The callers by the kind of hook. A retains-grad hook runs only C++ code."""

CALLS_HOOKS = ("torch::autograd::_call_hooks", PYTHON_HOOK)
"""The function in which each of them calls the Python functions, one after the other."""


def hook_caller(trace: Trace, node: ev.NodeStarted, seq: int) -> Caller | None:
    """The caller of the hook that a step within a Node's run belongs to; None if it belongs to none.

    The event of a hook comes when the hook ends, so a line directly in the Node belongs to the next hook that ends. The
    lines of a ``torch.autograd.Function`` are its backward's, unless the hook has the same function.
    """
    line = next((each for each in user_stack(trace, seq) if each.seq > node.seq), None)
    if line is None or line.parent != node.seq:
        return None
    ran = next((each for each in trace.children(node.seq) if each.seq > line.seq and _is_hook(each)), None)
    if not isinstance(ran, ev.HookRan) or (_is_functions(node) and _plain(ran.function) != _plain(line.function)):
        return None
    return CALLERS.get(ran.kind)


def _plain(function: str) -> str:
    return function.rpartition(".")[2]


def _is_hook(event: ev.AnyEvent) -> bool:
    return isinstance(event, (ev.HookRan, ev.SavedTensorHookRan))


def _is_functions(node: ev.NodeStarted) -> bool:
    """Return whether a Node's formula is in the program; other formulas are in the machine."""
    return not node.file.startswith("core/")


def called_frames(caller: Caller) -> Iterator[tuple[str, str]]:
    """Yield the functions and files from ``evaluate_function``, or the Node's own function, down to the hook."""
    if caller.around is not None:
        yield caller.around
    yield caller.function, PYTHON_HOOK
    yield CALLS_HOOKS
