"""``autogradNotImplementedFallback``: the boxed autograd kernels of operators that have no derivative.

This module mirrors the second half of ``torch/csrc/autograd/autograd_not_implemented_fallback.cpp``. PyTorch's
generator registers ``autogradNotImplementedFallback`` for its operators without an entry in derivatives.yaml
(factories, out= variants, operators without a derivative). ``autogradNotImplementedInplaceOrViewFallback`` is its
companion for ADInplaceOrView, for custom operators written in C++.

Not here: the backend fallback, which only warns (``autograd_fallback.py``).

Rule 1: a result leads to a ``NotImplemented`` Node, with edges only for the arguments that require grad. Backward
raises there.
Rule 2: only in-place operators and views leave ADInplaceOrView in the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.graph.basic_nodes import NotImplemented as NotImplementedNode
from dispatchviz.core.autograd.kernels.autograd_fallback import is_mutable_output, results_of, tensors_of
from dispatchviz.core.autograd.variables import creation_meta
from dispatchviz.core.autograd.variables.variable import (
    collect_next_edges,
    compute_requires_grad,
    increment_version,
    requires_grad,
    set_history,
)
from dispatchviz.core.autograd.variables.variable_checks import (
    can_mutate_inplace,
    check_inplace,
    out_requires_grad_error,
)
from dispatchviz.core.autograd.variables.view_info import as_view, rebase_history
from dispatchviz.core.call.dispatcher import redispatch_boxed
from dispatchviz.core.keys.key_set import after_ADInplaceOrView_keyset, after_autograd_keyset
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.tensor_events import CreationMeta

_REWRITE = "Please rewrite your function as a composite function."


def autograd_not_implemented_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Run the autograd kernel. A backward through its results raises.

    Raise RuntimeError if a written argument must not be written to, or if several arguments or returns are views of
    each other.
    """
    view = _is_view(op)
    arguments = _arguments(op, stack)
    tensors = tensors_of(op.schema.arguments, arguments)
    node: NotImplementedNode | None = None
    any_requires_grad = compute_requires_grad(*tensors)
    _check_written(op, arguments, any_requires_grad)
    if any_requires_grad:
        node = NotImplementedNode(op.schema.name)
        collect_next_edges(node, *filter(requires_grad, tensors))
    _run_below(op, ks, stack, view or any(returned.is_write for returned in op.schema.returns))
    if node is not None:
        _set_histories(op, stack, node)


def _arguments(op: OperatorEntry, stack: list[Any]) -> list[Any]:
    return stack[len(stack) - len(op.schema.arguments) :]


def _is_view(op: OperatorEntry) -> bool:
    """Return whether the result shares memory with an argument that is not written to. Raise RuntimeError if there are
    several.
    """
    expected = "Expected only a single {} in the operator schema"
    _only_view(op.schema.returns, expected.format("output"), "outputs are aliased with inputs")
    position = _only_view(op.schema.arguments, expected.format("input"), "inputs are aliased with outputs", " ")
    return position is not None


def _only_view(declared: Sequence[Argument], expected: str, several: str, space: str = "") -> int | None:
    """Return the position of the argument or return that is shared and not written to; None if there is none."""
    positions = [i for i, argument in enumerate(declared) if argument.alias is not None and not argument.is_write]
    if len(positions) > 1:
        raise RuntimeError(
            f"{expected} to have a non-write alias annotation (i.e., 'Tensor(a)'). Non-composite functions where "
            f"multiple {several} aren't supported.{space}{_REWRITE}"
        )
    return positions[0] if positions else None


def _check_written(op: OperatorEntry, arguments: Sequence[Any], any_requires_grad: bool) -> None:
    has_out = any(argument.is_write and argument.kwarg_only for argument in op.schema.arguments)
    for declared, value in zip(op.schema.arguments, arguments, strict=True):
        for tensor in tensors_of((declared,), (value,)) if declared.is_write else ():
            if not has_out:
                check_inplace(tensor, any_requires_grad)
            elif not can_mutate_inplace(tensor, any_requires_grad):
                raise out_requires_grad_error(op.schema.name)


def _run_below(op: OperatorEntry, ks: int, stack: list[Any], inplace_or_view: bool) -> None:
    if inplace_or_view:
        with AutoDispatchBelowAutograd():
            redispatch_boxed(op, ks & after_autograd_keyset, stack)
    else:
        with AutoDispatchBelowADInplaceOrView():
            redispatch_boxed(op, ks & after_ADInplaceOrView_keyset, stack)


def _set_histories(op: OperatorEntry, stack: list[Any], node: NotImplementedNode) -> None:
    for position, result in results_of(op, stack):
        if not result._dtype.can_require_grad:
            continue
        if is_mutable_output(op, position):
            rebase_history(result, node)
        else:
            set_history(result, node)


# -- ADInplaceOrView ---------------------------------------------------------------------------------------------------


def autograd_not_implemented_inplace_or_view_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Run the ADInplaceOrView kernel: count writes, and make the first return a view of the first argument.

    Raise RuntimeError if other arguments or returns are views, or several are.
    """
    base = _viewed(op, _arguments(op, stack))
    with AutoDispatchBelowADInplaceOrView():
        redispatch_boxed(op, ks & after_ADInplaceOrView_keyset, stack)
    at = len(stack) - len(op.schema.returns)
    for position, returned in enumerate(op.schema.returns):
        if returned.is_write:
            increment_version(stack[at + position])
    if base is not None:
        stack[at] = _views_of(op, base, stack[at])


def _viewed(op: OperatorEntry, arguments: Sequence[Any]) -> Tensor | None:
    """Return the tensor that the first return views; None if the operator returns no view."""
    expects = "Fallback ADInplaceOrView kernel expects only a single {} in the operator schema"
    output = _only_view(op.schema.returns, expects.format("output"), "outputs are aliased with inputs")
    given = _only_view(op.schema.arguments, expects.format("input"), "inputs are aliased with outputs", " ")
    if (output, given) not in ((None, None), (0, 0)):
        raise RuntimeError(
            "Fallback ADInplaceOrView kernel can only create view relationships between the first input and the first "
            "output (the output can be a vector of tensors). Please change the order of your operator's parameters so "
            "that this is the case."
        )
    return None if given is None else arguments[given]


def _views_of(op: OperatorEntry, base: Tensor, output: Any) -> Any:
    """Make views that must not be written to later, since there is no derivative."""
    refusal = f"Mutating the view {op.schema.name}which does not have a derivative implemented is forbidden."
    if isinstance(output, Tensor):
        return as_view(base, output, refusal=refusal)
    several: CreationMeta | None = None
    if thread.state.grad_mode and not thread.state.inference_mode:
        several = creation_meta.MULTI_OUTPUT_NODE
    return [as_view(base, member, several, refusal) for member in output]
