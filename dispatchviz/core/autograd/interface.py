"""``torch.autograd.backward`` and ``torch.autograd.grad``: what happens before and after the engine.

Mirrors ``torch/autograd/__init__.py`` and ``THPEngine_run_backward`` of ``torch/csrc/autograd/python_engine.cpp``.

NB: in PyTorch, a ``GradientEdge`` may stand for a tensor, and ``grad`` can be batched (``is_grads_batched``).
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dispatchviz.core.autograd import engine
from dispatchviz.core.autograd.basic_nodes import Identity
from dispatchviz.core.autograd.edge import Edge
from dispatchviz.core.autograd.requires_grad_flag import make_variable
from dispatchviz.core.autograd.tensor_hooks import retain_grad
from dispatchviz.core.autograd.variable import grad_fn, gradient_edge, requires_grad, try_get_grad_accumulator
from dispatchviz.core.functorch.tls import check_supports_backward
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView
from dispatchviz.core.tensor import Size, Tensor, numel

Tensors = Tensor | Iterable[Tensor]
OptionalTensors = Tensor | Iterable[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: OptionalTensors = None,
    inputs: Tensors | Mapping[str, Tensor] | None = None,
) -> None:
    """Adds the gradients of ``tensors`` to ``.grad`` of the leaves, or of ``inputs`` only.

    RuntimeError if a root does not require grad or gradients do not fit; whatever a Node or hook raises.
    """
    check_supports_backward()
    if grad_variables is not None:
        grad_tensors = _deprecated(grad_tensors, grad_variables)
    wanted = () if inputs is None else _inputs(inputs, "backward")
    roots = _as_tuple(tensors)
    gradients = _make_grads(roots, _gradients_as_tuple(grad_tensors, len(roots)))
    keep_graph = create_graph if retain_graph is None else bool(operator.index(retain_graph))
    _run_backward(roots, gradients, keep_graph, create_graph, wanted, allow_unreachable=True, accumulate=True)


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
    """The gradients of ``outputs`` with respect to ``inputs``: a tuple, or a dict for a dict.

    RuntimeError as ``backward``, and for an input that was not used unless ``allow_unused``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if is_grads_batched:
        raise NotImplementedError("dispatchviz has no batched gradients (is_grads_batched=True)")
    roots = _as_tuple(outputs)
    wanted = _inputs(inputs, "grad")
    if not only_inputs:
        warnings.warn(_ONLY_INPUTS, FutureWarning, stacklevel=2)
    gradients = _make_grads(roots, _gradients_as_tuple(grad_outputs, len(roots)))
    keep_graph = create_graph if retain_graph is None else bool(operator.index(retain_graph))
    unused = materialize_grads if allow_unused is None else allow_unused
    result = _run_backward(roots, gradients, keep_graph, create_graph, wanted, unused, accumulate=False)
    if materialize_grads:
        result = tuple([_zeros_if_none(g, t, create_graph) for g, t in zip(result, wanted, strict=True)])
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


def _as_tuple(tensors: Tensors) -> tuple[Tensor, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _inputs(inputs: Tensors | Mapping[str, Tensor], function: str) -> tuple[Tensor, ...]:
    if isinstance(inputs, Mapping):
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


def _gradients_as_tuple(gradients: OptionalTensors, count: int) -> tuple[Tensor | None, ...]:
    if gradients is None:
        return (None,) * count
    return (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)


def _make_grads(outputs: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Checks given root gradients; a missing one of a scalar becomes ones."""
    pairs = enumerate(zip(outputs, gradients, strict=False))
    return tuple([_make_grad(index, output, gradient) for index, (output, gradient) in pairs])


def _make_grad(index: int, output: Tensor, gradient: Tensor | None) -> Tensor | None:
    if not isinstance(output, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    if isinstance(gradient, Tensor):
        _check_given(index, output, gradient)
        return gradient
    if gradient is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if not requires_grad(output):
        return None
    if numel(output._size) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not output._dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output._dtype!r}")
    with AutoDispatchBelowADInplaceOrView():  # as every binding of a factory function
        return ops.ones_like.call(output, None, None, None, False, "preserve_format")


def _check_given(index: int, output: Tensor, gradient: Tensor) -> None:
    if gradient._size != output._size:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {_torch_size(gradient._size)} and "
            f"output[{index}] has a shape of {_torch_size(output._size)}."
        )
    if gradient._dtype.is_complex != output._dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {gradient._dtype!r} and output[{index}] has a dtype of "
            f"{output._dtype!r}."
        )


def _torch_size(size: Size) -> str:
    return f"torch.Size({list(size)})"


def _zeros_if_none(gradient: Tensor | None, tensor: Tensor, create_graph: bool) -> Tensor:
    if gradient is not None:
        return gradient
    with AutoDispatchBelowADInplaceOrView():
        zeros = ops.zeros_like.call(tensor, None, None, None, False, None)
    return make_variable(zeros, create_graph)


# -- the engine's Python entry ----------------------------------------------------------------------------------------


def _run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor],
    allow_unreachable: bool,
    accumulate: bool,
) -> tuple[Tensor | None, ...]:
    """``THPEngine_run_backward``: from tensors to edges, and back."""
    if len(roots) != len(gradients):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    edges = [_root_edge(index, root) for index, root in enumerate(roots)]
    outputs = [_input_edge(tensor, accumulate) for tensor in inputs]
    captured = engine.execute(edges, list(gradients), keep_graph, create_graph, accumulate, outputs)
    for index, gradient in enumerate(captured):
        if gradient is None and not allow_unreachable:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(captured)


def _root_edge(index: int, root: Tensor) -> Edge:
    edge = gradient_edge(root)
    if edge.function is None:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    return edge


def _input_edge(tensor: object, accumulate: bool) -> Edge:
    """Where the gradient of a requested input arrives.

    A leaf without AccumulateGrad cannot be reached: an Identity stands for it, so that the graph's empty edges are not
    taken for it.
    """
    if not isinstance(tensor, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
    node = grad_fn(tensor) or try_get_grad_accumulator(tensor)
    output_nr = tensor._output_nr
    if accumulate:
        retain_grad(tensor)
    if not requires_grad(tensor):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return Edge(Identity(), 0) if node is None else Edge(node, output_nr)
