"""``torch.autograd.Function.apply``: create the Node, run the forward, process the outputs.

This module mirrors ``THPFunction_apply`` of ``torch/csrc/autograd/python_function.cpp``. ``function_outputs.py``
processes the outputs, and ``python_function.py`` has the Node's backward.

Rule 1: edges come first (reading a stale view's history creates a Node), then the Node, then the forward with grad mode
off, then the history of the outputs, then the saved variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

from dispatchviz.core.autograd.function.function_outputs import Call, process_outputs
from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.variables.variable import gradient_edge, requires_grad
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoFwGradMode, AutoGradMode
from dispatchviz.core.thread.thread_state import restore_state, save_state, thread


def apply(function: type[FunctionBase], *args: Any, **kwargs: Any) -> Any:
    """Run ``Function.apply``. Raise TypeError for keywords that the forward does not have, RuntimeError for forbidden
    operations.

    Exceptions of the forward are passed on.
    """
    if recorder.active is not None and recorder.active.finds_callers:
        recorder.active.find_caller()
    kept = save_state()
    try:
        return _apply(function, args, kwargs)
    except BaseException:
        restore_state(kept)
        raise


def _apply(function: type[FunctionBase], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    inputs = _positional(function, args, kwargs) if kwargs else args
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    needed = tuple([isinstance(value, Tensor) and requires_grad(value) for value in inputs])
    executable = thread.state.grad_mode and True in needed
    edges = [gradient_edge(tensor) for tensor in tensors] if executable else []
    node = function._backward_cls()
    node.set_next_edges(edges, tensors if executable else ())
    node.needs_input_grad = needed
    node._thp_is_variable_input = tuple([isinstance(value, Tensor) for value in inputs])
    node._thp_clear_on_access = _switch(function, "clear_saved_tensors_on_access")
    node._thp_boxed = _switch(function, "boxed_grads_call")
    own_setup = has_setup_context(function)
    result = _forward(function, node, inputs, executable, own_setup)
    outputs = result if isinstance(result, tuple) else (result,)
    wrapped = process_outputs(Call(node, executable, tensors, outputs, own_setup))
    return tuple(wrapped) if isinstance(result, tuple) else wrapped[0]


def has_setup_context(function: type[FunctionBase]) -> bool:
    """Return whether the Function's forward takes no ctx. ``setup_context`` gets it instead."""
    return getattr(function.setup_context, "__qualname__", "") != "_SingleLevelFunction.setup_context"


def _forward(
    function: type[FunctionBase], node: FunctionBase, inputs: tuple[Any, ...], recorded: bool, own_setup: bool
) -> Any:
    rec = recorder.active
    if rec is not None:
        rec.function_entered(function, node, recorded, own_setup)
    try:
        with AutoGradMode(False, "the forward of a custom Function"), AutoFwGradMode(False):
            if not own_setup:
                return function.forward(node, *inputs)
            result = function.forward(*inputs)
            function.setup_context(node, inputs, result)
            return result
    finally:
        if rec is not None:
            rec.leave()


def _switch(function: type[FunctionBase], name: str) -> bool:
    value: object = getattr(function, name)
    if not isinstance(value, bool):
        raise RuntimeError(f"{name} must be a bool, got {type(value).__name__}")
    return value


# -- keywords ---------------------------------------------------------------------------------------------------------


def _positional(function: type[FunctionBase], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return keyword arguments by position. PyTorch reads the names from the code object, so there are no defaults and
    no ``*args``.
    """
    code = function.forward.__code__
    if not isinstance(code, CodeType):
        raise TypeError("forward().__code__ is not a code object")
    names = code.co_varnames[: code.co_argcount]
    names = names if has_setup_context(function) else names[1:]
    placed = dict(enumerate(args)) | {_argument_index(name, names, len(args)): value for name, value in kwargs.items()}
    total = max(placed) + 1
    if total > len(names):
        raise TypeError(f"forward() takes {len(names)} positional arguments but {total} were given")
    for position in range(total):
        if position not in placed:
            raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
    return tuple([placed[position] for position in range(total)])


def _argument_index(name: str, names: tuple[str, ...], given: int) -> int:
    if name not in names:
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    position = names.index(name)
    if position < given:
        raise TypeError(f"forward() got multiple values for argument '{name}'")
    return position
