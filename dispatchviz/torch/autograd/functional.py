"""``torch.autograd.functional``: derivatives of functions (``torch/autograd/functional.py``).

``jvp`` and ``hvp`` run backward twice. The first result is linear in the gradient that it receives, so its derivative
by that gradient is the product.

NB: ``hessian`` has no forward-mode strategy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch.autograd.functional_arguments import (
    OUTPUTS,
    Function,
    Tensors,
    as_tuple,
    check_requires_grad,
    check_single_number,
    check_v,
    fill_in_zeros,
    grad,
    grad_postprocess,
    grad_preprocess,
    is_one_number,
    nested_tuple_postprocess,
    tuple_postprocess,
    zeros_like,
)
from dispatchviz.torch.autograd.functional_forward import jacfwd
from dispatchviz.torch.grad_modes import enable_grad, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


class _Problem:
    """A function with preprocessed inputs and outputs."""

    def __init__(self, name: str, func: Function, inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name, self.func, self.create_graph, self.strict = name, func, create_graph, strict
        self.inputs_were_tuple, given = as_tuple(inputs, "inputs", name)
        self.inputs = grad_preprocess(given, create_graph, need_graph=True)

    def run(self) -> None:
        """Call the user's function."""
        self.outputs_were_tuple, self.outputs = as_tuple(self.func(*self.inputs), OUTPUTS, self.name)
        check_requires_grad(self.outputs, "outputs", self.strict)

    def vector(self, v: Any, other: Tensors, other_was_tuple: bool, missing: str) -> Tensors | None:
        """Return the checked vector. Raise RuntimeError if it is missing and required."""
        if v is None:
            if not is_one_number(other):
                raise RuntimeError(f"The vector v can only be None if {missing}")
            return None
        _, given = as_tuple(v, "v", self.name)
        given = grad_preprocess(given, self.create_graph, need_graph=False)
        check_v(given, other, other_was_tuple)
        return given

    def vector_like_inputs(self, v: Any) -> Tensors | None:
        """Return the checked vector for products with the inputs."""
        missing = "the input to the user-provided function is a single Tensor with a single element."
        return self.vector(v, self.inputs, self.inputs_were_tuple, missing)

    def answer(self, product: Tensors, was_tuple: bool) -> tuple[Any, Any]:
        """Return the outputs of the function, and the product."""
        outputs = tuple_postprocess(grad_postprocess(self.outputs, self.create_graph), self.outputs_were_tuple)
        return outputs, tuple_postprocess(grad_postprocess(product, self.create_graph), was_tuple)

    def in_wanted_mode(self) -> set_grad_enabled:
        """Return the grad mode for the last backward: the caller's, or enabled if the result needs a graph."""
        return set_grad_enabled(self.create_graph or thread.state.grad_mode)


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of ``func`` and the vector-Jacobian product. Raise TypeError or RuntimeError for bad
    arguments.
    """
    with enable_grad():
        problem = _Problem("vjp", func, inputs, create_graph, strict)
        problem.run()
        missing = "the user-provided function returns a single Tensor with a single element."
        vector = problem.vector(v, problem.outputs, problem.outputs_were_tuple, missing)
    with problem.in_wanted_mode():
        found = grad(problem.outputs, problem.inputs, vector, create_graph=create_graph)
        product = fill_in_zeros(found, problem.inputs, strict, create_graph, "back")
    return problem.answer(product, problem.inputs_were_tuple)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of ``func`` and the Jacobian-vector product. Raise TypeError or RuntimeError for bad
    arguments.
    """
    with enable_grad():
        problem = _Problem("jvp", func, inputs, create_graph, strict)
        vector = problem.vector_like_inputs(v)
        problem.run()
        cotangents = tuple([zeros_like(out, True) for out in problem.outputs])
        pulled_back = grad(problem.outputs, problem.inputs, cotangents, create_graph=True)
        check_requires_grad(pulled_back, "grad_inputs", strict)
    with problem.in_wanted_mode():
        found = grad(pulled_back, cotangents, vector, create_graph=create_graph)
        product = fill_in_zeros(found, problem.outputs, strict, create_graph, "back_trick")
    return problem.answer(product, problem.outputs_were_tuple)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of ``func``, one number, and the vector-Hessian product. Raise TypeError or RuntimeError as
    ``vjp`` does.
    """
    with enable_grad():
        problem = _Problem("vhp", func, inputs, create_graph, strict)
        vector = problem.vector_like_inputs(v)
        jac = _gradient(problem)
    with problem.in_wanted_mode():
        found = grad(jac, problem.inputs, vector, create_graph=create_graph)
        product = fill_in_zeros(found, problem.inputs, strict, create_graph, "double_back")
    return problem.answer(product, problem.inputs_were_tuple)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return the output of ``func``, one number, and the Hessian-vector product. Raise TypeError or RuntimeError as
    ``vjp`` does.
    """
    with enable_grad():
        problem = _Problem("hvp", func, inputs, create_graph, strict)
        vector = problem.vector_like_inputs(v)
        jac = _gradient(problem)
        cotangents = tuple([zeros_like(tensor, True) for tensor in problem.inputs])
        twice = grad(jac, problem.inputs, cotangents, create_graph=True)
        check_requires_grad(jac, "hessian", strict)
    with problem.in_wanted_mode():
        found = grad(twice, cotangents, vector, create_graph=create_graph)
        product = fill_in_zeros(found, problem.inputs, strict, create_graph, "double_back_trick")
    return problem.answer(product, problem.inputs_were_tuple)


def _gradient(problem: _Problem) -> tuple[Tensor | None, ...]:
    """Return the gradient of a function that returns one number, with a graph."""
    problem.run()
    check_single_number(problem.name, problem.outputs_were_tuple, problem.outputs)
    jac = grad(problem.outputs, problem.inputs, None, create_graph=True)
    check_requires_grad(jac, "jacobian", problem.strict)
    return jac


# -- whole matrices ----------------------------------------------------------------------------------------------------


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of every output by every input. Raise TypeError or RuntimeError for arguments that do not
    fit.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return jacfwd(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        problem = _Problem("jacobian", func, inputs, create_graph, strict)
        problem.run()
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        rows = _at_once(problem) if vectorize else _one_by_one(problem)
        return nested_tuple_postprocess(
            grad_postprocess(rows, create_graph), problem.outputs_were_tuple, problem.inputs_were_tuple
        )


def _one_by_one(problem: _Problem) -> tuple[Tensors, ...]:
    """Return the Jacobian from one backward per element of every output."""
    return tuple([tuple(_blocks(problem, i, out)) for i, out in enumerate(problem.outputs)])


def _blocks(problem: _Problem, index: int, out: Tensor) -> Iterator[Tensor]:
    """Yield for one output a block per input."""
    rows = [_row(problem, index, out, element) for element in range(numel(out._size))]
    for position, tensor in enumerate(problem.inputs):
        yield ops.view.call(ops.stack.call([row[position] for row in rows], 0), (*out._size, *tensor._size))


def _row(problem: _Problem, index: int, out: Tensor, element: int) -> list[Tensor]:
    """Return the derivatives of one element by all inputs."""
    number = ops.select_int.call(ops.reshape.call(out, (-1,)), 0, element)
    found = grad((number,), problem.inputs, None, retain_graph=True, create_graph=problem.create_graph)
    if problem.strict:
        _check_row(problem, index, found)
    return [zeros_like(t) if g is None else g for g, t in zip(found, problem.inputs, strict=True)]


def _check_row(problem: _Problem, index: int, found: tuple[Tensor | None, ...]) -> None:
    for position, gradient in enumerate(found):
        if gradient is None:
            raise RuntimeError(
                f"Output {index} of the user-provided function is independent of input {position}. This is not allowed "
                "in strict mode."
            )
        if problem.create_graph and not requires_grad(gradient):
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode when create_graph=True."
            )


def _at_once(problem: _Problem) -> tuple[Tensors, ...]:
    """Return the Jacobian from one batched backward for all elements of all outputs."""
    counts = tuple([numel(out._size) for out in problem.outputs])
    flat = tuple([ops.reshape.call(out, (-1,)) for out in problem.outputs])
    how = {"create_graph": problem.create_graph, "is_grads_batched": True}
    found = grad(flat, problem.inputs, _standard_basis(problem.outputs, counts), **how)
    columns = []
    for tensor, gradient in zip(problem.inputs, found, strict=True):
        if gradient is None:
            gradient = ops.expand.call(zeros_like(tensor), (sum(counts), *tensor._size), False)
        parts = ops.split_with_sizes.call(gradient, counts, 0)
        columns.append(
            [ops.view.call(p, (*o._size, *tensor._size)) for p, o in zip(parts, problem.outputs, strict=True)]
        )
    return tuple(zip(*columns, strict=True))


def _standard_basis(tensors: Tensors, counts: tuple[int, ...]) -> Tensors:
    """Return the unit vectors of all elements together, with a chunk of columns for each tensor."""
    chunks, before = [], 0
    for tensor, count in zip(tensors, counts, strict=True):
        chunk = ops.new_zeros.call(tensor, (sum(counts), count), None, None, None, None)
        ops.fill__Scalar.call(ops.diagonal.call(chunk, -before, 0, 1), 1)
        chunks.append(chunk)
        before += count
    return tuple(chunks)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a function that returns one number. Raise TypeError or RuntimeError as ``jacobian``
    does.
    """
    were_tuple, given = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    if outer_jacobian_strategy == "forward-mode":
        raise NotImplementedError(
            "dispatchviz's hessian has no forward-mode strategy; reverse-mode gives the same result"
        )

    def single_number(*inputs: Tensor) -> Any:
        was_tuple, outputs = as_tuple(func(*inputs), OUTPUTS, "hessian")
        check_requires_grad(outputs, "outputs", strict)
        check_single_number("hessian", was_tuple, outputs)
        return ops.squeeze.call(outputs[0])

    def gradient(*inputs: Tensor) -> Any:
        jac = jacobian(single_number, inputs, create_graph=True)
        check_requires_grad(jac, "jacobian", strict)
        return jac

    table = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return nested_tuple_postprocess(table, were_tuple, were_tuple)
