"""The array library of each device: NumPy for ``cpu``, CuPy for ``cuda`` where a GPU is usable.

Without a usable GPU ``cuda`` is emulated on NumPy behind the same keys, and the reason is kept for every header. CuPy
is imported only when the state of ``cuda`` is first used. The choice ``none`` gives a machine without a CUDA device, as
does ``auto`` while ``CUDA_VISIBLE_DEVICES`` names no device.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy

from dispatchviz.foundation.errors import DispatchvizError


class DeviceUnavailable(DispatchvizError):
    """A requested device is not available on this machine."""


@dataclass(frozen=True)
class CudaState:
    """What ``cuda`` is on this machine."""

    real: bool
    library: ModuleType
    reason: str
    """Why it is emulated or absent; the GPU's name if it is real."""
    present: bool = True
    """Whether there is a CUDA device at all."""

    def __str__(self) -> str:
        if not self.present:
            return f"none ({self.reason})"
        return f"CuPy on {self.reason}" if self.real else f"emulated on NumPy ({self.reason})"


@cache
def detect() -> tuple[ModuleType | None, str]:
    """Try CuPy once: (module, GPU name), or (None, the reason)."""
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
"""The environment variable that chooses for the process unless a command's option does."""
_choice = os.environ.get(_CHOSEN_BEFORE, "auto")


def choose_cuda(choice: str) -> None:
    """``auto``, ``cupy``, ``emulated`` or ``none``; DeviceUnavailable if ``cupy`` is requested and not usable.
    ``auto`` leaves the choice to the environment."""
    global _choice
    choice = os.environ.get(_CHOSEN_BEFORE, choice) if choice == "auto" else choice
    if choice not in _CHOICES:
        raise _unknown(choice)
    if choice == "cupy" and detect()[0] is None:
        raise DeviceUnavailable(f"--cuda cupy: {detect()[1]}; use --cuda auto or --cuda emulated")
    _choice = choice
    forget_cuda()


def forget_cuda() -> None:
    """The state of ``cuda`` is looked at again when it is next used."""
    cuda_state.cache_clear()
    array_module.cache_clear()


def _unknown(choice: str) -> DeviceUnavailable:
    return DeviceUnavailable(f"{_CHOSEN_BEFORE} may be {', '.join(_CHOICES)}, not {choice!r}")


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
    """What ``cuda`` is under a choice, as far as that is known without importing CuPy."""
    if choice in ("emulated", "none") or not _is_visible() or importlib.util.find_spec("cupy") is None:
        return str(state_under(choice))
    return "CuPy, if a GPU is usable"


def is_initialized() -> bool:
    """Return whether ``cuda`` has been used: from then on ``CUDA_VISIBLE_DEVICES`` changes nothing."""
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
    """The array library of a device: its ``empty``, ``add``, ..."""
    return cuda_state().library if device_type == "cuda" else numpy


def module_of(array: Any) -> Any:
    """The library that an array is of."""
    return numpy if isinstance(array, numpy.ndarray) else cuda_state().library


def on_host(array: Any) -> Any:
    """The array as a NumPy array on the host, for loops over single elements."""
    return array.get() if is_on_gpu(array) else array


def is_on_gpu(array: Any) -> bool:
    """Return whether it is an array of CuPy's: its numbers are on the host only after a copy, which waits for the
    GPU.
    """
    return not isinstance(array, numpy.ndarray)


VARIABLE = "CUDA_VISIBLE_DEVICES"


def names_a_device(value: str | None) -> bool:
    """Return whether the variable leaves a device. A list ends before its first bad entry; a repeated entry makes it
    empty.
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
    """The number with which a text begins, as ``strtoul`` reads it; None if it is negative or there is none."""
    number = re.match(r"[+-]?\d+", text)
    return None if number is None or int(number[0]) < 0 else int(number[0])
