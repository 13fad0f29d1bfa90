"""The meanings of ``cuda`` in a test: emulated on NumPy, the stand-in for CuPy, CuPy on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dispatchviz.core.device import array_library
from dispatchviz.core.device.array_library import DeviceUnavailable, choose_cuda
from tests import cupy_stand_in

STAND_IN = "stand-in"
CUDA_KINDS = ["emulated", STAND_IN, pytest.param("cupy", marks=pytest.mark.gpu)]
"""The ``params`` for a fixture."""


@contextmanager
def cuda_is(kind: str) -> Iterator[None]:
    """Use this kind of cuda while the block runs. Skip the test if it needs a GPU and there is none."""
    choice, detect = array_library._choice, array_library.detect
    try:
        if kind == STAND_IN:
            array_library.detect = lambda: (cupy_stand_in, "no GPU")  # type: ignore[assignment]
        choose_cuda("cupy" if kind == STAND_IN else kind)
        yield
    except DeviceUnavailable as reason:
        pytest.skip(str(reason))
    finally:
        array_library.detect, array_library._choice = detect, choice
        array_library.forget_cuda()
