"""``torch.autograd.backward`` and ``torch.autograd.grad``: the code before and after the engine.

This module mirrors ``torch/autograd/__init__.py`` and ``THPEngine_run_backward`` of
``torch/csrc/autograd/python_engine.cpp``.

A ``GradientEdge`` may represent a tensor (``gradient_edge.py``). ``root_gradients.py`` has the root gradients.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dispatchviz.core.autograd.engine import engine, root_gradients
from dispatchviz.core.autograd.engine.batched_grads import vmapped
from dispatchviz.core.autograd.engine.logging_hooks import hooks_on_whole_graph, is_logged
from dispatchviz.core.autograd.engine.root_gradients import OptionalTensors, Root
from dispatchviz.core.autograd.graph.basic_nodes import Identity
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.gradient_edge import GradientEdge, parse
from dispatchviz.core.autograd.hooks.tensor_hooks import retain_grad
from dispatchviz.core.autograd.variables.requires_grad_flag import new_variable
from dispatchviz.core.autograd.variables.variable import grad_fn, gradient_edge, requires_grad, try_get_grad_accumulator
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.functorch_tls import check_supports_backward
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView
from dispatchviz.core.thread.restoring_state import restores_state

Tensors = Root | Iterable[Root]


@restores_state
def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: OptionalTensors = None,
    inputs: Tensors | Mapping[str, Tensor] | None = None,
) -> None:
    """Add the gradients of ``tensors`` to ``.grad`` of the leaves, or of ``inputs`` only.

    Raise RuntimeError if a root does not require grad or gradients do not fit. Exceptions of Nodes and hooks are passed
    on.
    """
    check_supports_backward()
    if grad_variables is not None:
        grad_tensors = _deprecated(grad_tensors, grad_variables)
    wanted = () if inputs is None else _inputs(inputs, "backward")
    roots = _as_tuple(tensors)
    gradients = root_gradients.make(roots, root_gradients.as_tuple(grad_tensors, len(roots)), batched=False)
    keep_graph = create_graph if retain_graph is None else retain_graph
    _engine_run_backward(
        roots, gradients, keep_graph, create_graph, wanted, allow_unreachable=True, accumulate_grad=True
    )


@restores_state
def grad(
    outputs: Tensors,
    inputs: Tensors | Mapping[str, Tensor],
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs``: a tuple, or a dict for a dict.

    Raise RuntimeError as ``backward`` does, and for an input that was not used unless ``allow_unused``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots = _as_tuple(outputs)
    wanted = _inputs(inputs, "grad")
    if not only_inputs:
        warnings.warn(_ONLY_INPUTS, FutureWarning, stacklevel=2)
    gradients = root_gradients.make(roots, root_gradients.as_tuple(grad_outputs, len(roots)), is_grads_batched)
    keep_graph = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused

    def vjp(gradients: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        return _engine_run_backward(roots, gradients, keep_graph, create_graph, wanted, unused, accumulate_grad=False)

    result = vmapped(vjp, gradients) if is_grads_batched else vjp(gradients)
    if materialize_grads:
        result = _materialized(result, wanted, create_graph)
    return dict(zip(inputs, result, strict=True)) if isinstance(inputs, dict) else result


_ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
    "of the graph, please use torch.autograd.backward."
)


# -- arguments --------------------------------------------------------------------------------------------------------


def _deprecated(grad_tensors: OptionalTensors, grad_variables: OptionalTensors) -> OptionalTensors:
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
            "`grad_tensors`."
        )
    return grad_variables


def _as_tuple(tensors: Tensors) -> tuple[Root, ...]:
    return (tensors,) if isinstance(tensors, (Tensor, GradientEdge)) else tuple(tensors)


def _inputs(inputs: Tensors | Mapping[str, Tensor], function: str) -> tuple[Root, ...]:
    if inputs.__class__ not in _SEQUENCES and isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. "
                "Other Mapping types are not supported."
            )
        inputs = inputs.values()
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return wanted


_SEQUENCES = (list, tuple, Tensor)
"""Frequent sequence types, since checking whether a value is a Mapping takes long."""


def _materialized(
    result: Sequence[Tensor | None], inputs: Sequence[Root], create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Replace missing gradients by zeros. Raise RuntimeError if there is no tensor whose shape they could have."""
    if any(g is None and not isinstance(given, Tensor) for g, given in zip(result, inputs, strict=True)):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    pairs = zip(result, inputs, strict=True)
    return tuple([_zeros_like(t, create_graph) if g is None and isinstance(t, Tensor) else g for g, t in pairs])


def _zeros_like(tensor: Tensor, create_graph: bool) -> Tensor:
    with AutoDispatchBelowADInplaceOrView():
        zeros = ops.zeros_like.call(tensor, None, None, None, False, None)
    return new_variable(zeros, create_graph)


# -- the engine's Python entry ----------------------------------------------------------------------------------------


def _engine_run_backward(tensors: Sequence[Root], *args: Any, **flags: Any) -> tuple[Tensor | None, ...]:
    """Run ``run_backward``, logged at level DEBUG."""
    if not is_logged():
        return run_backward(tensors, *args, **flags)
    unregister = hooks_on_whole_graph(tensors)
    try:
        return run_backward(tensors, *args, **flags)
    finally:
        unregister()


def run_backward(
    tensors: Sequence[Root],
    grad_tensors: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Root],
    allow_unreachable: bool,
    accumulate_grad: bool,
) -> tuple[Tensor | None, ...]:
    """Run the engine from tensors to gradients (``THPEngine_run_backward``). Raise TypeError for a flag that is not an
    integer.
    """
    keep_graph, create_graph = bool(operator.index(keep_graph)), bool(operator.index(create_graph))
    allow_unreachable = bool(operator.index(allow_unreachable))
    if len(tensors) != len(grad_tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_tensors)} gradients")
    edges = [_root_edge(index, root) for index, root in enumerate(tensors)]
    outputs = [_input_edge(tensor, accumulate_grad) for tensor in inputs]
    captured = engine.execute(edges, list(grad_tensors), keep_graph, create_graph, accumulate_grad, outputs, inputs)
    for index, gradient in enumerate(captured):
        if gradient is None and not allow_unreachable:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(captured)


def _root_edge(index: int, root: Root) -> Edge:
    edge = parse(root) if isinstance(root, GradientEdge) else gradient_edge(root)
    if edge.function is None:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    return edge


def _input_edge(tensor: object, accumulate: bool) -> Edge:
    """Return the edge at which the gradient of a requested input arrives.

    A leaf without AccumulateGrad cannot be reached. An Identity represents it, so that the graph's empty edges are not
    confused with it.
    """
    if isinstance(tensor, GradientEdge):
        return parse(tensor)
    if not isinstance(tensor, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
    node = grad_fn(tensor) or try_get_grad_accumulator(tensor)
    output_nr = tensor._output_nr
    if accumulate:
        retain_grad(tensor)
    if not requires_grad(tensor):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return Edge(Identity(), 0) if node is None else Edge(node, output_nr)
