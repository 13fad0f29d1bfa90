"""``special.bessel_j0``, ``special.airy_ai``, ``special.chebyshev_polynomial_t`` and similar functions
(``aten/src/ATen/native/UnaryOps.cpp``, ``BinaryOps.cpp``): Bessel and Airy functions, orthogonal polynomials.

Two tables list kernels that are all alike, on the arrays of ``bessel_arrays.py`` and ``polynomial_arrays.py``. Results
are floating. There are loops for float and double only; no function has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise_float,
    float_type,
    no_instance,
    result_type,
)
from dispatchviz.core.native.special import bessel_arrays as bessel
from dispatchviz.core.native.special import polynomial_arrays as polynomial
from dispatchviz.core.tensor.dtype import float32, float64
from dispatchviz.core.tensor.tensor import Tensor

Kernel = Callable[..., Tensor]
StructuredKernel = Callable[..., None]


def _loop_of(function: Callable[..., Any]) -> StructuredKernel:
    """The loop of a function of arrays, whose name appears in errors.

    It raises NotImplementedError unless the dtype is float or double.
    """

    def out(*operands_and_out: Tensor) -> None:
        *operands, out = operands_and_out
        dtype = float_type(result_type(*operands))
        xp = array_module(out._device.type)
        known = dtype in (float32, float64)
        loop = function if known else no_instance(f"{function.__name__}_cpu", dtype)
        compute(out, dtype, lambda *arrays: loop(xp, *arrays), *operands)

    return out


def _floating_result(op: Structured, *operands: Tensor) -> None:
    elementwise_float(op, *operands)


def _number_overload(name: str) -> Kernel:
    """The overload of a polynomial in which x or n is a number: it is wrapped and the Tensor overload is called."""

    def call(x: Tensor | Scalar, n: Tensor | Scalar, *out: Tensor) -> Tensor:
        tensors = [each if isinstance(each, Tensor) else wrapped_scalar_tensor(each) for each in (x, n)]
        overload: Kernel = getattr(ops, f"special_{name}_out" if out else f"special_{name}").call
        return overload(*tensors, *out)

    return call


# -- functions of one tensor -------------------------------------------------------------------------------------------

special_airy_ai_meta: StructuredKernel = _floating_result
special_bessel_j0_meta: StructuredKernel = _floating_result
special_bessel_j1_meta: StructuredKernel = _floating_result
special_bessel_y0_meta: StructuredKernel = _floating_result
special_bessel_y1_meta: StructuredKernel = _floating_result
special_modified_bessel_i0_meta: StructuredKernel = _floating_result
special_modified_bessel_i1_meta: StructuredKernel = _floating_result
special_modified_bessel_k0_meta: StructuredKernel = _floating_result
special_modified_bessel_k1_meta: StructuredKernel = _floating_result
special_scaled_modified_bessel_k0_meta: StructuredKernel = _floating_result
special_scaled_modified_bessel_k1_meta: StructuredKernel = _floating_result
special_spherical_bessel_j0_meta: StructuredKernel = _floating_result

special_airy_ai_out: StructuredKernel = _loop_of(bessel.airy_ai)
special_bessel_j0_out: StructuredKernel = _loop_of(bessel.bessel_j0)
special_bessel_j1_out: StructuredKernel = _loop_of(bessel.bessel_j1)
special_bessel_y0_out: StructuredKernel = _loop_of(bessel.bessel_y0)
special_bessel_y1_out: StructuredKernel = _loop_of(bessel.bessel_y1)
special_modified_bessel_i0_out: StructuredKernel = _loop_of(bessel.modified_bessel_i0)
special_modified_bessel_i1_out: StructuredKernel = _loop_of(bessel.modified_bessel_i1)
special_modified_bessel_k0_out: StructuredKernel = _loop_of(bessel.modified_bessel_k0)
special_modified_bessel_k1_out: StructuredKernel = _loop_of(bessel.modified_bessel_k1)
special_scaled_modified_bessel_k0_out: StructuredKernel = _loop_of(bessel.scaled_modified_bessel_k0)
special_scaled_modified_bessel_k1_out: StructuredKernel = _loop_of(bessel.scaled_modified_bessel_k1)
special_spherical_bessel_j0_out: StructuredKernel = _loop_of(bessel.spherical_bessel_j0)

# -- polynomials: functions of points and degrees ----------------------------------------------------------------------

special_chebyshev_polynomial_t_meta: StructuredKernel = _floating_result
special_chebyshev_polynomial_u_meta: StructuredKernel = _floating_result
special_chebyshev_polynomial_v_meta: StructuredKernel = _floating_result
special_chebyshev_polynomial_w_meta: StructuredKernel = _floating_result
special_hermite_polynomial_h_meta: StructuredKernel = _floating_result
special_hermite_polynomial_he_meta: StructuredKernel = _floating_result
special_laguerre_polynomial_l_meta: StructuredKernel = _floating_result
special_legendre_polynomial_p_meta: StructuredKernel = _floating_result
special_shifted_chebyshev_polynomial_t_meta: StructuredKernel = _floating_result
special_shifted_chebyshev_polynomial_u_meta: StructuredKernel = _floating_result
special_shifted_chebyshev_polynomial_v_meta: StructuredKernel = _floating_result
special_shifted_chebyshev_polynomial_w_meta: StructuredKernel = _floating_result

special_chebyshev_polynomial_t_out: StructuredKernel = _loop_of(polynomial.chebyshev_polynomial_t)
special_chebyshev_polynomial_u_out: StructuredKernel = _loop_of(polynomial.chebyshev_polynomial_u)
special_chebyshev_polynomial_v_out: StructuredKernel = _loop_of(polynomial.chebyshev_polynomial_v)
special_chebyshev_polynomial_w_out: StructuredKernel = _loop_of(polynomial.chebyshev_polynomial_w)
special_hermite_polynomial_h_out: StructuredKernel = _loop_of(polynomial.hermite_polynomial_h)
special_hermite_polynomial_he_out: StructuredKernel = _loop_of(polynomial.hermite_polynomial_he)
special_laguerre_polynomial_l_out: StructuredKernel = _loop_of(polynomial.laguerre_polynomial_l)
special_legendre_polynomial_p_out: StructuredKernel = _loop_of(polynomial.legendre_polynomial_p)
special_shifted_chebyshev_polynomial_t_out: StructuredKernel = _loop_of(polynomial.shifted_chebyshev_polynomial_t)
special_shifted_chebyshev_polynomial_u_out: StructuredKernel = _loop_of(polynomial.shifted_chebyshev_polynomial_u)
special_shifted_chebyshev_polynomial_v_out: StructuredKernel = _loop_of(polynomial.shifted_chebyshev_polynomial_v)
special_shifted_chebyshev_polynomial_w_out: StructuredKernel = _loop_of(polynomial.shifted_chebyshev_polynomial_w)

special_chebyshev_polynomial_t: Kernel = _number_overload("chebyshev_polynomial_t")
special_chebyshev_polynomial_u: Kernel = _number_overload("chebyshev_polynomial_u")
special_chebyshev_polynomial_v: Kernel = _number_overload("chebyshev_polynomial_v")
special_chebyshev_polynomial_w: Kernel = _number_overload("chebyshev_polynomial_w")
special_hermite_polynomial_h: Kernel = _number_overload("hermite_polynomial_h")
special_hermite_polynomial_he: Kernel = _number_overload("hermite_polynomial_he")
special_laguerre_polynomial_l: Kernel = _number_overload("laguerre_polynomial_l")
special_legendre_polynomial_p: Kernel = _number_overload("legendre_polynomial_p")
special_shifted_chebyshev_polynomial_t: Kernel = _number_overload("shifted_chebyshev_polynomial_t")
special_shifted_chebyshev_polynomial_u: Kernel = _number_overload("shifted_chebyshev_polynomial_u")
special_shifted_chebyshev_polynomial_v: Kernel = _number_overload("shifted_chebyshev_polynomial_v")
special_shifted_chebyshev_polynomial_w: Kernel = _number_overload("shifted_chebyshev_polynomial_w")

special_chebyshev_polynomial_t_out_x_scalar_out: Kernel = special_chebyshev_polynomial_t
special_chebyshev_polynomial_t_out_n_scalar_out: Kernel = special_chebyshev_polynomial_t
special_chebyshev_polynomial_u_out_x_scalar_out: Kernel = special_chebyshev_polynomial_u
special_chebyshev_polynomial_u_out_n_scalar_out: Kernel = special_chebyshev_polynomial_u
special_chebyshev_polynomial_v_out_x_scalar_out: Kernel = special_chebyshev_polynomial_v
special_chebyshev_polynomial_v_out_n_scalar_out: Kernel = special_chebyshev_polynomial_v
special_chebyshev_polynomial_w_out_x_scalar_out: Kernel = special_chebyshev_polynomial_w
special_chebyshev_polynomial_w_out_n_scalar_out: Kernel = special_chebyshev_polynomial_w
special_hermite_polynomial_h_out_x_scalar_out: Kernel = special_hermite_polynomial_h
special_hermite_polynomial_h_out_n_scalar_out: Kernel = special_hermite_polynomial_h
special_hermite_polynomial_he_out_x_scalar_out: Kernel = special_hermite_polynomial_he
special_hermite_polynomial_he_out_n_scalar_out: Kernel = special_hermite_polynomial_he
special_laguerre_polynomial_l_out_x_scalar_out: Kernel = special_laguerre_polynomial_l
special_laguerre_polynomial_l_out_n_scalar_out: Kernel = special_laguerre_polynomial_l
special_legendre_polynomial_p_out_x_scalar_out: Kernel = special_legendre_polynomial_p
special_legendre_polynomial_p_out_n_scalar_out: Kernel = special_legendre_polynomial_p
special_shifted_chebyshev_polynomial_t_out_x_scalar_out: Kernel = special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_t_out_n_scalar_out: Kernel = special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u_out_x_scalar_out: Kernel = special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_u_out_n_scalar_out: Kernel = special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v_out_x_scalar_out: Kernel = special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_v_out_n_scalar_out: Kernel = special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w_out_x_scalar_out: Kernel = special_shifted_chebyshev_polynomial_w
special_shifted_chebyshev_polynomial_w_out_n_scalar_out: Kernel = special_shifted_chebyshev_polynomial_w
