"""The array library of each device: NumPy for ``cpu``, CuPy for ``cuda`` if a GPU is usable.

Without a usable GPU, ``cuda`` is emulated on NumPy with the same keys, and every header shows the reason. CuPy is
imported only when the state of ``cuda`` is first used. The choice ``none`` gives a machine without a CUDA device. So
does ``auto`` if ``CUDA_VISIBLE_DEVICES`` names no device.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache
from types import ModuleType
from typing import Any

import numpy
from msgspec import Struct

from dispatchviz.foundation.errors import DispatchvizError


class DeviceUnavailable(DispatchvizError):
    """The error for a requested device that is not available on this machine."""


class CudaState(Struct, frozen=True):
    """The kind of ``cuda`` on this machine: real, emulated or absent."""

    real: bool
    library: ModuleType
    reason: str
    """The reason why it is emulated or absent; the GPU's name if it is real."""
    present: bool = True
    """False if there is no CUDA device at all."""

    def __str__(self) -> str:
        if not self.present:
            return f"none ({self.reason})"
        return f"CuPy on {self.reason}" if self.real else f"emulated on NumPy ({self.reason})"


@cache
def detect() -> tuple[ModuleType | None, str]:
    """Try CuPy once. Return the module and the GPU's name, or None and the reason."""
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


_CHOICES = ("auto", "cupy", "emulated", "none")
_CHOSEN_BEFORE = "DISPATCHVIZ_CUDA"
"""The environment variable that makes the choice for the process unless a command's option does."""
_choice = os.environ.get(_CHOSEN_BEFORE, "auto")


def choose_cuda(choice: str) -> None:
    """Choose ``auto``, ``cupy``, ``emulated`` or ``none``. ``auto`` leaves the choice to the environment.

    Raise DeviceUnavailable if ``cupy`` is requested and not usable.
    """
    global _choice
    choice = os.environ.get(_CHOSEN_BEFORE, choice) if choice == "auto" else choice
    if choice not in _CHOICES:
        raise _unknown(choice)
    if choice == "cupy" and detect()[0] is None:
        raise DeviceUnavailable(f"--cuda cupy: {detect()[1]}; use --cuda auto or --cuda emulated")
    _choice = choice
    forget_cuda()


def forget_cuda() -> None:
    """Forget the state of ``cuda``. It is determined again when it is next used."""
    cuda_state.cache_clear()
    array_module.cache_clear()


def _unknown(choice: str) -> DeviceUnavailable:
    return DeviceUnavailable(f"{_CHOSEN_BEFORE} may be {', '.join(_CHOICES)}, not {choice!r}")


def cuda_choice() -> str:
    """The current choice. It takes effect when ``cuda`` is first used."""
    return _choice


@cache
def cuda_state() -> CudaState:
    """The state of ``cuda`` under the current choice. Raise DeviceUnavailable if the environment's choice does not
    exist.
    """
    return state_under(_choice)


def state_under(choice: str) -> CudaState:
    """The state of ``cuda`` under a choice. Reading it prepares nothing for a GPU."""
    if choice not in _CHOICES:
        raise _unknown(choice)
    if choice == "none":
        return CudaState(False, numpy, "requested", present=False)
    if choice == "auto" and not _is_visible():
        return CudaState(False, numpy, f"{VARIABLE} names no device", present=False)
    if choice == "emulated":
        return CudaState(False, numpy, "requested")
    module, reason = detect()
    return CudaState(False, numpy, reason) if module is None else CudaState(True, module, reason)


def cuda_without_looking(choice: str) -> str:
    """A description of ``cuda`` under a choice, as far as it is known without importing CuPy."""
    if choice in ("emulated", "none") or not _is_visible() or importlib.util.find_spec("cupy") is None:
        return str(state_under(choice))
    return "CuPy, if a GPU is usable"


def is_initialized() -> bool:
    """Return whether ``cuda`` has been used. After that, ``CUDA_VISIBLE_DEVICES`` has no effect."""
    return bool(cuda_state.cache_info().currsize)


def has_device() -> bool:
    """Return whether there is a CUDA device."""
    if is_initialized():
        return cuda_state().present
    return _choice != "none" and (_choice != "auto" or _is_visible())


def _is_visible() -> bool:
    return names_a_device(os.environ.get(VARIABLE))


@cache
def array_module(device_type: str) -> Any:
    """The array library of a device, with its ``empty``, ``add``, ..."""
    return cuda_state().library if device_type == "cuda" else numpy


def module_of(array: Any) -> Any:
    """The library to which an array belongs."""
    return numpy if isinstance(array, numpy.ndarray) else cuda_state().library


def on_host(array: Any) -> Any:
    """The array as a NumPy array on the host, for loops over single elements."""
    return array.get() if is_on_gpu(array) else array


def is_on_gpu(array: Any) -> bool:
    """Return whether an array is CuPy's. Its numbers reach the host only by a copy, which waits for the GPU."""
    return not isinstance(array, numpy.ndarray)


VARIABLE = "CUDA_VISIBLE_DEVICES"


def names_a_device(value: str | None) -> bool:
    """Return whether a value of ``CUDA_VISIBLE_DEVICES`` leaves a device. A list ends before its first bad entry, and a
    repeated entry makes it empty.
    """
    if value is None:
        return True
    entries: list[object] = []
    kind = next((prefix for prefix in ("GPU-", "MIG-") if value.startswith(prefix)), "")
    for text in value.split(","):
        entry = _identifier(text, kind) if kind else _ordinal(text.strip())
        if entry in entries:
            return False
        if entry is None:
            break
        entries.append(entry)
    return bool(entries)


def _identifier(text: str, kind: str) -> str | None:
    return text if text.startswith(kind) else None


def _ordinal(text: str) -> int | None:
    """The number at the beginning of a text, as ``strtoul`` reads it; None if there is none or it is negative."""
    number = re.match(r"[+-]?\d+", text)
    return None if number is None or int(number[0]) < 0 else int(number[0])
