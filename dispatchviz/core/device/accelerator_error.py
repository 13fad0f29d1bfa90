"""The error of a device (``c10/util/Exception.h``, ``c10/cuda/CUDAException.cpp``)."""

from __future__ import annotations


class AcceleratorError(RuntimeError):
    """A device has failed; ``error_code`` is what its library says."""

    error_code: int


AcceleratorError.__module__ = "torch"

_INVALID_DEVICE = 101
"""``cudaErrorInvalidDevice``"""


def invalid_device() -> AcceleratorError:
    """``c10_cuda_check_implementation``, for a device that the machine does not have."""
    error = AcceleratorError(
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
        "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
    )
    error.error_code = _INVALID_DEVICE
    return error


def no_device() -> RuntimeError:
    """``device_count_ensure_non_zero`` (``c10/cuda/CUDAFunctions.cpp``)."""
    return RuntimeError("No CUDA GPUs are available")
