"""``matrix_exp``: Taylor polynomials with few products, whose degree depends on the norm (``LinearAlgebra.cpp``).

Bader, Blanes, Casas: Computing the Matrix Exponential with an Optimized Taylor Polynomial Approximation, 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import quiet, store
from dispatchviz.core.native.linalg.matmul import matmul_out
from dispatchviz.core.native.linalg.matrix_checks import check_floating_or_complex, square_check_inputs
from dispatchviz.core.tensor.dtype import complex64, float32, int64, real_type
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, from_blob, numel

Rows = Sequence[Sequence[float]]
TermIndices = tuple[int, int, int]

THETAS = {
    numpy.float32: (
        1.192092800768788e-07,
        5.978858893805233e-04,
        5.116619363445086e-02,
        5.800524627688768e-01,
        1.461661507209034e00,
        3.010066362817634e00,
    ),
    numpy.float64: (
        2.220446049250313e-16,
        2.580956802971767e-08,
        3.397168839976962e-04,
        4.991228871115323e-02,
        2.996158913811580e-01,
        1.090863719290036e00,
    ),
}
"""The largest norm for which the polynomials of degree 1, 2, 4, 8, 12 and 18 are accurate, by computation dtype."""

TWELVE = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)
"""The coefficients of I, A, A^2, A^3 for degree 12."""

EIGHTEEN = (
    (0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0),
    (
        0.0,
        3.97849749499645077844e-01,
        1.36783778460411720168e00,
        4.98289622525382669416e-01,
        -6.37898194594723280150e-04,
    ),
    (
        -1.09676396052962061844e01,
        1.68015813878906206114e00,
        5.71779846478865511061e-02,
        -6.98210122488052056106e-03,
        3.34975017086070470649e-05,
    ),
    (
        -9.04316832390810593223e-02,
        -6.76404519071381882256e-02,
        6.75961301770459654925e-02,
        2.95552570429315521194e-02,
        -1.39180257516060693404e-05,
    ),
    (0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)
"""The coefficients of I, A, A^2, A^3, A^6 for degree 18."""

# -- operators ---------------------------------------------------------------------------------------------------------


def linalg_matrix_exp(self: Tensor) -> Tensor:
    """The matrix exponential. Raise RuntimeError unless the matrices are square, floating or complex, and can be viewed
    as a batch.

    NB: results for half and bfloat16 are wrong, as in PyTorch: it reads the memory of its coefficients as another type.
    """
    square_check_inputs(self, "linalg.matrix_exp")
    check_floating_or_complex(self, "linalg.matrix_exp")
    n = self._size[-1]
    if n == 0:
        return ops.clone.call(self, None)
    if n == 1:
        return ops.exp.call(self)
    batch = numel(self._size[:-2]) if 0 in self._size else -1
    matrices = ops.view.call(self, (batch, n, n))
    return ops.view.call(_exponential(matrices), self._size)


def matrix_exp(self: Tensor) -> Tensor:
    """The old name of ``linalg_matrix_exp``."""
    return ops.linalg_matrix_exp.call(self)


def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    """The upper right block of the exponential of [[self^H, grad], [0, self^H]]."""
    square_check_inputs(self, "matrix_exp_backward")
    adjoint = ops.mH.call(self)
    n = self._size[-1]
    size = (*self._size[:-2], 2 * n, 2 * n)
    whole = ops.zeros.call(size, grad._dtype, "strided", grad._device, None)
    for row, column, part in ((0, 0, adjoint), (n, n, adjoint), (0, n, grad)):
        ops.copy_.call(block(whole, row, column, n), part, False)
    return block(ops.matrix_exp.call(whole), 0, n, n)


def block(whole: Tensor, row: int, column: int, n: int) -> Tensor:
    """The block of n rows and n columns at a block position."""
    return ops.narrow.call(ops.narrow.call(whole, -2, row, n), -1, column, n)


# -- choosing the degree -----------------------------------------------------------------------------------------------


def _scalar_type(self: Tensor) -> Any:
    """The type in which C++ computes thresholds and coefficients."""
    return numpy.float32 if self._dtype in (float32, complex64) else numpy.float64


def _exponential(self: Tensor) -> Tensor:
    """The exponentials. Several matrices all use degree 18; a single one uses the lowest sufficient degree."""
    norm = ops.max_dim.call(ops.sum_dim_IntList.call(ops.abs.call(self), (-2,), False, None), -1, False)[0]
    scalar_type = _scalar_type(self)
    thetas = [float(scalar_type(theta)) for theta in THETAS[scalar_type]]
    if self._size[0] > 1:
        return _scaled_and_squared(self, norm, thetas[-1])
    result = ops.full_like.call(self, math.nan, None, None, None, None, "contiguous_format")
    norm_on_host = _to_device(norm, "cpu")
    for low, high, polynomial in zip((-1.0, *thetas), thetas, DEGREES, strict=False):
        within = ops.le_Scalar.call(norm_on_host, high)
        within = ops.mul_Tensor.call(ops.gt_Scalar.call(norm_on_host, low), within)
        indices = _nonzero_indices(within)
        if numel(indices._size):
            indices = _to_device(indices, self._device.type)
            found = polynomial(ops.index_select.call(self, 0, indices))
            _index_put(result, indices, found)
    indices = _nonzero_indices(ops.ge_Scalar.call(norm_on_host, thetas[-2]))
    if numel(indices._size):
        indices = _to_device(indices, self._device.type)
        large = ops.index_select.call(self, 0, indices)
        found = _scaled_and_squared(large, ops.index_select.call(norm, 0, indices), thetas[-1])
        _index_put(result, indices, found)
    return result


def _nonzero_indices(mask: Tensor) -> Tensor:
    return ops.squeeze_dim.call(ops.nonzero.call(mask), -1)


def _index_put(result: Tensor, indices: Tensor, found: Tensor) -> None:
    """C++'s ``result.index_put_({indices}, found)``, which drops a leading dimension of 1 from the values."""
    ops.index_put_.call(result, [indices], ops.view.call(found, found._size[1:]), False)


def _to_device(tensor: Tensor, device_type: str) -> Tensor:
    """The tensor itself on the CPU, or a copy between CPU and GPU."""
    if tensor._device.type == device_type:
        return tensor
    device = Device(device_type)
    return ops.to_dtype_layout.call(tensor, None, None, device, None, False, False, None)


# -- polynomials -------------------------------------------------------------------------------------------------------


def _powers(self: Tensor, buffers: int, filled: int) -> Tensor:
    """The first ``filled`` of I, A, A^2, A^3, A^6, along a new first dimension."""
    size = (buffers, *self._size)
    As = ops.empty_memory_format.call(size, self._dtype, "strided", self._device, None, None)
    first = _select(As, 0)
    ones = ops.ones.call((1,), self._dtype, "strided", self._device, None)
    ones = ops.expand.call(ones, self._size[:-1], False)
    ops.copy_.call(first, ops.diag_embed.call(ones, 0, -2, -1), False)
    ops.copy_.call(_select(As, 1), self, False)
    for index, left, right in ((2, 1, 1), (3, 1, 2), (4, 3, 3)):
        if index < filled:
            out = _select(As, index)
            second = _select(As, right)
            matmul_out(_select(As, left), second, out)
    return As


def _select(tensor: Tensor, index: int) -> Tensor:
    return ops.select_int.call(tensor, 0, index)


def _sum(parts: Tensor) -> Tensor:
    return ops.sum_dim_IntList.call(parts, (0,), False, None)


def _degree_1(self: Tensor) -> Tensor:
    return _sum(_powers(self, 2, 2))


def _degree_2(self: Tensor) -> Tensor:
    As = _powers(self, 3, 3)
    ops.div__Scalar.call(_select(As, 2), 2.0)
    return _sum(As)


def _degree_4(self: Tensor) -> Tensor:
    """I + A + A^2 (I / 2 + A / 6 + A^2 / 24)"""
    As = _powers(self, 4, 3)
    out = _select(As, 3)
    inner = _linear_combination(ops.narrow.call(As, 0, 0, 3), (1 / 2.0, 1 / 6.0, 1 / 24.0))
    matmul_out(_select(As, 2), inner, out)
    return _linear_combination(As, (1.0, 1.0, 0.0, 1.0))


def _degree_8(self: Tensor) -> Tensor:
    """I + A + y2 A^2 + A8; A4 = A^2 (x1 A + x2 A^2), A8 = (x3 A^2 + A4) (x4 I + x5 A + x6 A^2 + x7 A4)"""
    x1, x2, x3, x4, x5, x6, x7, y2 = _coefficients_of_degree_8(_scalar_type(self))
    As = _powers(self, 5, 3)
    out = _select(As, 3)
    right = _linear_combination(ops.narrow.call(As, 0, 1, 2), (x1, x2))
    matmul_out(_select(As, 2), right, out)
    out = _select(As, 4)
    right = _linear_combination(ops.narrow.call(As, 0, 0, 4), (x4, x5, x6, x7))
    left = _linear_combination(ops.narrow.call(As, 0, 2, 2), (x3, 1.0))
    matmul_out(left, right, out)
    return _linear_combination(As, (1.0, 1.0, y2, 0.0, 1.0))


def _coefficients_of_degree_8(scalar_type: Any) -> list[float]:
    """The coefficients x1 to x7 and y2, each rounded to the type."""
    root = float(scalar_type(0.1330413469565007072504e2))
    x3 = float(scalar_type(2.0 / 3.0))
    exact = (
        x3 * ((1.0 + root) / 88.0),
        x3 * ((1.0 + root) / 352.0),
        x3,
        (-271.0 + 29.0 * root) / (315.0 * x3),
        (-11.0 + 11.0 * root) / (1260.0 * x3),
        (-99.0 + 11.0 * root) / (5040.0 * x3),
        (89.0 - root) / (5040.0 * x3),
        (857.0 - 58.0 * root) / 630.0,
    )
    return [float(scalar_type(value)) for value in exact]


def _degree_12(self: Tensor) -> Tensor:
    return _nested(self, TWELVE, ((2, 3, 3), (0, 1, 2)))


def _degree_18(self: Tensor) -> Tensor:
    return _nested(self, EIGHTEEN, ((3, 0, 4), (1, 2, 3)))


def _nested(self: Tensor, coefficients: Rows, indices: tuple[TermIndices, TermIndices]) -> Tensor:
    """Two products of linear combinations B of the powers: q = B_sum + B_left B_right, then B_sum + (B_left + q) q.

    ``indices``: the positions of sum, left and right for each product.
    """
    weights = _from_memory(coefficients, self)
    powers = _powers(self, len(coefficients), len(coefficients))
    Bs = _compute_linear_combination(powers, weights)
    out = _select(powers, 0)
    (total, left, right), (last_total, last_left, q) = indices
    inner = _select(Bs, total)
    second = _select(Bs, right)
    ops.add__Tensor.call(inner, matmul_out(_select(Bs, left), second, out), 1)
    last = _select(Bs, last_total)
    second = _select(Bs, q)
    first = _select(Bs, last_left)
    first = ops.add__Tensor.call(first, _select(Bs, q), 1)
    return ops.add__Tensor.call(last, matmul_out(first, second, out), 1)


DEGREES = (_degree_1, _degree_2, _degree_4, _degree_8, _degree_12)
"""The polynomials for a single matrix, by norm. Larger norms are scaled and use degree 18."""

# -- linear combinations -----------------------------------------------------------------------------------------------


def _from_memory(coefficients: Any, like: Tensor) -> Tensor:
    """A tensor that reinterprets numbers in memory in the real dtype of another tensor (``_blob_to_Tensor``)."""
    memory: Any = numpy.array(coefficients, _scalar_type(like))
    dtype = real_type(like._dtype)
    return from_blob(memory.reshape(-1).view(dtype.numpy), memory.shape, contiguous_strides(memory.shape), dtype)


def _linear_combination(parts: Tensor, coefficients: Sequence[float]) -> Tensor:
    row = ops.unsqueeze.call(_from_memory(coefficients, parts), 0)
    return ops.squeeze_dim.call(_compute_linear_combination(parts, row), 0)


def _compute_linear_combination(input: Tensor, coefficients: Tensor) -> Tensor:
    """The weighted sums of the parts of input, one for each row of coefficients."""
    weights = _to_device(coefficients, input._device.type)
    rows = weights._size[0]
    out = ops.zeros.call((rows, *input._size[1:]), input._dtype, "strided", input._device, None)
    _restrided(out, 1)
    _restrided(input, 0)
    ones = (1,) * len(input._size)
    ops.as_strided.call(weights, (rows, *ones), (weights._stride[0], *(0 for _ in ones)), None)
    store(out, quiet.run(_weighted_sums, input._array, weights._array))
    return out


def _restrided(tensor: Tensor, dim: int) -> Tensor:
    """A view with a new dimension, as the iterator receives it: dimension 1 has size 1, because the loop goes over the
    parts.
    """
    longer = ops.unsqueeze.call(tensor, dim)
    size, stride = longer._size, longer._stride
    return ops.as_strided.call(tensor, (size[0], 1, *size[2:]), (stride[0], 0, *stride[2:]), None)


def _weighted_sums(parts: Any, weights: Any) -> Any:
    weights = weights.reshape(*weights.shape, *(1 for _ in parts.shape[1:]))
    total = weights[:, 0] * parts[0]
    for index in range(1, len(parts)):
        total = total + weights[:, index] * parts[index]
    return total


# -- scaling and squaring ----------------------------------------------------------------------------------------------


def _scaled_and_squared(self: Tensor, norm: Tensor, theta: float) -> Tensor:
    """exp(A) = exp(A / 2^s)^(2^s) by degree 18; matrices that need the same number of squarings are squared
    together.
    """
    squares = ops.ceil.call(ops.log2.call(ops.div_Scalar.call(norm, theta)))
    squares = ops.clamp.call(squares, 0, None)
    scale = ops.pow_Scalar.call(2, ops.neg.call(squares))
    scaled = ops.mul_Tensor.call(self, ops.view.call(scale, (-1, 1, 1)))
    exponentials = _degree_18(scaled)
    counts, order = ops.sort.call(squares, 0, False)
    sections = _sections(ops.to_dtype.call(counts, int64, False, False, None))
    rest = ops.index_select.call(exponentials, 0, order)
    done = []
    for length, more in zip(*sections, strict=True):
        for _ in range(more):
            rest = ops.matmul_out.call(rest, rest, ops.empty_like.call(rest, None, None, None, None, None))
        done.append(ops.slice_Tensor.call(rest, 0, 0, length, 1))
        rest = ops.slice_Tensor.call(rest, 0, length, None, 1)
    whole = ops.cat.call(done, 0)
    return ops.index_select.call(whole, 0, ops.argsort.call(order, -1, False))


def _sections(squares: Tensor) -> list[list[int]]:
    """The number of matrices for each number of squarings, and the difference to the previous number of squarings."""
    lengths = ops.unique_consecutive.call(squares, True, True, None)[2]
    ends = ops.sub_Scalar.call(ops.cumsum.call(lengths, 0, None), 1, 1)
    unique = ops.clamp.call(ops.index_select.call(squares, 0, ends), 0, None)
    start = ops.new_zeros.call(unique, (1,), None, None, None, None)
    more = ops.diff.call(unique, 1, -1, start, None)
    both = ops.cat.call([lengths, more], 0)
    both = ops.to_dtype_layout.call(both, int64, "strided", CPU, False, False, False, None)
    found: list[int] = both._array.tolist()
    return [found[: len(found) // 2], found[len(found) // 2 :]]
