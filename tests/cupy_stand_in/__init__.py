"""A CuPy for machines without a GPU: it computes with NumPy and refuses what CuPy refuses.

``truth/records/cupy.json``, written by ``truth/recorders/cupy.py`` from an installed CuPy, contains its names, the
parameters of its functions and methods, and the loops of its ufuncs. Other rules are stated where they are applied: an
array never becomes a NumPy array by itself, a NumPy array is not an operand, results without dimensions are arrays, and
an array is not a Python index. Therefore a kernel that fails here fails on a GPU. ``make gpu`` checks whether a kernel
that runs here runs there too.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy

from tests.cupy_stand_in import cuda as cuda
from tests.cupy_stand_in.array import ndarray as ndarray
from tests.cupy_stand_in.functions import Namespace
from tests.cupy_stand_in.recorded import RECORDED

__version__ = RECORDED["version"]


class _Module(ModuleType):
    """A module with the names of one of CuPy's modules."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._namespace = Namespace(name)

    def __getattr__(self, name: str) -> Any:
        return self._namespace[name]


linalg = _Module("cupy.linalg")
fft = _Module("cupy.fft")
lib = ModuleType("cupy.lib")
lib.stride_tricks = _Module("cupy.lib.stride_tricks")  # type: ignore[attr-defined]
_names = Namespace("cupy")


def __getattr__(name: str) -> Any:
    return _names[name]


def asnumpy(a: Any) -> numpy.ndarray[Any, Any]:
    """Return a copy in host memory. Anything but a CuPy array is converted to a NumPy array."""
    return a.get() if isinstance(a, ndarray) else numpy.asarray(a)
