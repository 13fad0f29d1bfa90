"""Global flags of ``torch``, and ``torch.compile``.

NB: the flags never change how operators are computed: one by one, on one thread, with the same algorithms and in full
precision. Deterministic algorithms fill memory and raise errors (``core/call/deterministic_algorithms.py``). The number
of threads chooses the convolution.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.thread.context import context
from dispatchviz.torch.missing_names import stand_in as _stand_in


def get_num_threads() -> int:
    """Return the number of intra-op threads. With several threads, PyTorch prefers other convolutions."""
    return context.num_threads


def set_num_threads(num: int) -> None:
    """Set the number of intra-op threads. Raise RuntimeError unless it is positive."""
    _check_threads("intra", "set_num_threads", num)
    context.num_threads = num


def get_num_interop_threads() -> int:
    """Return the number of inter-op threads."""
    return context.num_interop_threads


def set_num_interop_threads(num: int) -> None:
    """Set the number of inter-op threads. Raise RuntimeError unless it is positive."""
    _check_threads("inter", "set_num_interop_threads", num)
    context.num_interop_threads = num


def _check_threads(kind: str, name: str, num: int) -> None:
    if not isinstance(num, int):
        raise TypeError(f"{name} expects an int, but got {type(num).__name__}")
    if num <= 0:
        kind_text = "number of threads" if kind == "intra" else "interop threads"
        raise RuntimeError(f"{name} expects a positive integer" if kind == "intra" else f"{name}: {kind_text}")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request deterministic kernels, which the model's always are, and filled memory instead of uninitialized
    memory.
    """
    context.deterministic = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether deterministic algorithms were requested."""
    return context.deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether nondeterministic algorithms only warn."""
    return context.deterministic == 1


def get_deterministic_debug_mode() -> int:
    """Return the debug mode, 0, 1 or 2."""
    return context.deterministic


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the debug mode, 0, 1, 2 or its name. Raise TypeError for another type, RuntimeError for another number or
    name.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _DEBUG_MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    number = _DEBUG_MODES[debug_mode] if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {number}")
    context.deterministic = number


def set_flush_denormal(mode: bool) -> bool:
    """Return False: denormal numbers are never flushed here. Raise RuntimeError for anything but a bool."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


_PRECISIONS = ("highest", "high", "medium")


def get_float32_matmul_precision() -> str:
    """Return the precision, ``highest`` by default."""
    return context.float32_matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision. Warn of an unknown one."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )
        return
    context.float32_matmul_precision = precision


@_stand_in
def compile(model: Any = None, **options: Any) -> Any:
    """Return the function or module itself, with a warning. It runs as in PyTorch with ``TORCH_COMPILE_DISABLE=1``."""
    if model is None:
        return lambda function: compile(function, **options)
    warnings.warn(
        "dispatchviz's model of PyTorch has no compiler, so the argument of torch.compile runs operator by operator, "
        "as in PyTorch with TORCH_COMPILE_DISABLE=1",
        stacklevel=2,
    )
    return model


def compiled_with_cxx11_abi() -> bool:
    """Return True."""
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        get_num_threads,
        set_num_threads,
        get_num_interop_threads,
        set_num_interop_threads,
        use_deterministic_algorithms,
        are_deterministic_algorithms_enabled,
        is_deterministic_algorithms_warn_only_enabled,
        get_deterministic_debug_mode,
        set_deterministic_debug_mode,
        set_flush_denormal,
        get_float32_matmul_precision,
        set_float32_matmul_precision,
        compile,
        compiled_with_cxx11_abi,
    )
}
