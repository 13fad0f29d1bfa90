"""The array library of each device: NumPy for ``cpu``, CuPy for ``cuda`` where a GPU is usable.

Without a usable GPU ``cuda`` is emulated on NumPy behind the same keys, and the reason is kept for every header. CuPy
is imported only when the state of ``cuda`` is first used.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy

from dispatchviz.errors import DispatchvizError


class DeviceUnavailable(DispatchvizError):
    """A requested device is not available on this machine."""


@dataclass(frozen=True)
class CudaState:
    """What ``cuda`` is on this machine."""

    real: bool
    library: ModuleType
    reason: str
    """Why it is emulated; the GPU's name if it is real."""

    def __str__(self) -> str:
        return f"CuPy on {self.reason}" if self.real else f"emulated on NumPy ({self.reason})"


@cache
def detect() -> tuple[ModuleType | None, str]:
    """Tries CuPy once: (module, GPU name), or (None, the reason)."""
    if importlib.util.find_spec("cupy") is None:
        return None, "CuPy is not installed"
    try:
        cupy: Any = importlib.import_module("cupy")
        if not cupy.is_available():
            return None, "no usable GPU"
        if (total := int((cupy.ones(1) + cupy.ones(1))[0])) != 2:
            return None, f"CuPy does not work here: 1 + 1 is {total}"
        return cupy, cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception as error:  # a broken driver or toolkit raises anything at all
        message = next(iter(str(error).splitlines()), "")
        return None, f"CuPy does not work here: {type(error).__name__}{message and ': '}{message}"


_CHOICES = ("auto", "cupy", "emulated")
_choice = os.environ.get("DISPATCHVIZ_CUDA", "auto")


def choose_cuda(choice: str) -> None:
    """``auto``, ``cupy`` or ``emulated``; DeviceUnavailable if ``cupy`` is requested and not usable."""
    global _choice
    if choice not in _CHOICES:
        raise DeviceUnavailable(f"cuda may be {', '.join(_CHOICES)}, not {choice!r}")
    if choice == "cupy" and detect()[0] is None:
        raise DeviceUnavailable(f"--cuda cupy: {detect()[1]}; use --cuda auto or --cuda emulated")
    _choice = choice
    cuda_state.cache_clear()


def cuda_choice() -> str:
    """The current choice, which decides what ``cuda`` is from its first use on."""
    return _choice


@cache
def cuda_state() -> CudaState:
    """The state of ``cuda`` under the current choice. DeviceUnavailable if the environment's choice is none."""
    return state_under(_choice)


def state_under(choice: str) -> CudaState:
    """The state of ``cuda`` under a choice; looking at it prepares nothing for a GPU."""
    if choice not in _CHOICES:
        raise DeviceUnavailable(f"DISPATCHVIZ_CUDA may be {', '.join(_CHOICES)}, not {choice!r}")
    if choice == "emulated":
        return CudaState(False, numpy, "requested")
    module, reason = detect()
    return CudaState(False, numpy, reason) if module is None else CudaState(True, module, reason)


def cuda_without_looking(choice: str) -> str:
    """What ``cuda`` is under a choice, as far as that is known without importing CuPy."""
    if choice == "emulated" or importlib.util.find_spec("cupy") is None:
        return str(state_under(choice))
    return "CuPy, if a GPU is usable"


def array_module(device_type: str) -> Any:
    """The array library of a device: its ``empty``, ``add``, ..."""
    return cuda_state().library if device_type == "cuda" else numpy


def module_of(array: Any) -> Any:
    """The library that an array is of."""
    return numpy if isinstance(array, numpy.ndarray) else cuda_state().library


def on_host(array: Any) -> Any:
    """The array as a NumPy array on the host, for loops over single elements."""
    return array.get() if is_on_gpu(array) else array


def is_on_gpu(array: Any) -> bool:
    """Whether it is an array of CuPy's: its numbers are on the host only after a copy, which waits for the GPU."""
    return not isinstance(array, numpy.ndarray)
