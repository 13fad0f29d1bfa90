"""The error function of single precision, which is a polynomial here."""

from __future__ import annotations

import math

import numpy

from dispatchviz.core.native.special.error_function import error_function


def test_single_precision_is_the_c_librarys_rounded() -> None:
    small = 10.0 ** numpy.linspace(-40, 0, 4001)
    points = numpy.concatenate([numpy.linspace(-6, 6, 40001), small, -small, [0.0, math.inf, -math.inf]])
    points = points.astype("float32")
    expected = numpy.array([math.erf(x) for x in points.tolist()]).astype("float32")
    assert numpy.array_equal(error_function("cpu")(points), expected)


def test_the_sign_of_zero_and_nan_stay() -> None:
    zero, nan = error_function("cpu")(numpy.array([-0.0, math.nan], "float32"))
    assert numpy.signbit(zero)
    assert numpy.isnan(nan)
