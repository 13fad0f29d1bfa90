"""``cov``, ``corrcoef``: covariance and correlation matrices (``aten/src/ATen/native/Correlation.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.sorting.quantile import is_scalar_tensor_true
from dispatchviz.core.tensor.dtype import Category, bool_, int64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.warning import warn_python


def cov(self: Tensor, correction: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor:
    """The covariance matrix of variables in rows, with observations in columns; weights may count an observation
    several times or less.
    """
    _check_rank("cov", self)
    if self._dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = ops.view.call(self, (1, -1)) if len(self._size) < 2 else self
    count = rows._size[1]
    weights = _weights(count, fweights, aweights)
    total = _whole(count, rows) if weights is None else ops.sum.call(weights, None)
    if weights is not None and not is_scalar_tensor_true(ops.ne_Scalar.call(total, 0)):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    weighted = rows if weights is None else ops.mul_Tensor.call(rows, weights)
    average = ops.div_Tensor.call(ops.sum_dim_IntList.call(weighted, (1,), False, None), total)
    factor = _factor(total, count, rows, weights, aweights, correction)
    rows = ops.sub_Tensor.call(rows, ops.unsqueeze.call(average, 1), 1)
    weighted = ops.t.call(rows if weights is None else ops.mul_Tensor.call(rows, weights))
    if weighted._dtype.is_complex:
        weighted = ops._conj.call(weighted)
    return ops.squeeze.call(ops.true_divide_Tensor.call(ops.mm.call(rows, weighted), factor))


def _check_rank(name: str, self: Tensor) -> None:
    if len(self._size) > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {len(self._size)} "
            "dimensions"
        )


def _whole(count: int, like: Tensor) -> Tensor:
    return ops.scalar_tensor.call(count, int64, "strided", like._device, None)


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    if fweights is not None:
        _check_weights("fweights", fweights, count, "integral", fweights._dtype.category is Category.INTEGRAL)
    if aweights is not None:
        _check_weights("aweights", aweights, count, "floating point", aweights._dtype.is_floating_point)
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return ops.mul_Tensor.call(fweights, aweights)


def _check_weights(name: str, weights: Tensor, count: int, kind: str, fits: bool) -> None:
    if len(weights._size) > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(weights._size)} "
            "dimensions"
        )
    if not fits:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights._dtype.legacy} dtype"
        )
    if numel(weights._size) != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{numel(weights._size)} != {count}"
        )
    if count and not is_scalar_tensor_true(ops.ge_Scalar.call(ops.min.call(weights), 0)):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _factor(
    total: Tensor, count: int, rows: Tensor, weights: Tensor | None, aweights: Tensor | None, correction: int
) -> Tensor:
    """The divisor of the products. If it would be negative or 0, warn and return 0."""
    if weights is None:
        factor = _whole(count - correction, rows)
    elif correction == 0:
        factor = total
    elif aweights is None:
        factor = ops.sub_Scalar.call(total, correction, 1)
    else:
        squares = ops.sum.call(ops.mul_Tensor.call(weights, aweights), None)
        subtracted = ops.div_Tensor.call(ops.mul_Scalar.call(squares, correction), total)
        factor = ops.sub_Tensor.call(total, subtracted, 1)
    if is_scalar_tensor_true(ops.le_Scalar.call(factor, 0)):
        warn_python(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            "aten/src/ATen/native/Correlation.cpp:129",
        )
        ops.zero_.call(factor)
    return factor


def corrcoef(self: Tensor) -> Tensor:
    """The covariances divided by both standard deviations."""
    _check_rank("corrcoef", self)
    found = ops.cov.call(self, 1, None, None)
    if not found._size:
        return ops.div_Tensor.call(found, found)
    variances = ops.diagonal.call(found, 0, 0, 1)
    if variances._dtype.is_complex:
        variances = ops.real.call(variances)
    deviations = ops.sqrt.call(variances)
    found = ops.div_Tensor.call(found, ops.view.call(deviations, (-1, 1)))
    found = ops.div_Tensor.call(found, ops.view.call(deviations, (1, -1)))
    if found._dtype.is_complex:
        real = ops.clip.call(ops.real.call(found), -1, 1)
        return ops.complex.call(real, ops.clip.call(ops.imag.call(found), -1, 1))
    return ops.clip.call(found, -1, 1)
