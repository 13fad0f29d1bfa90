"""A CuPy for machines without a GPU: it computes with NumPy and refuses what CuPy refuses.

What CuPy has is in ``truth/records/cupy.json``, written by ``truth/recorders/cupy.py`` from an installed CuPy: names,
the parameters of its functions and methods, the loops of its ufuncs. What does not follow from that is said where it is
done: an array never turns into a NumPy array by itself, a NumPy array is no operand, results without dimensions are
arrays, no array is an index of Python's. So a kernel that fails here fails on a GPU; whether one that runs here runs
there, too, ``make gpu`` asks.
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
    """The names of one of CuPy's modules."""

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
    """A copy in the host's memory; what is no array of CuPy's is turned into one of NumPy's."""
    return a.get() if isinstance(a, ndarray) else numpy.asarray(a)
