"""Global flags of ``torch``, and ``torch.compile``.

NB: operators are computed one by one, on one thread, by the same algorithms and in full precision, whatever is chosen.
Deterministic algorithms fill memory and refuse (``core/call/deterministic_algorithms.py``); the number of threads
chooses convolutions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.core.thread.context import context


def get_num_threads() -> int:
    """The number of intra-op threads. PyTorch prefers other convolutions if there are several."""
    return context.num_threads


def set_num_threads(num: int) -> None:
    """RuntimeError unless it is positive."""
    _check_threads("intra", "set_num_threads", num)
    context.num_threads = num


def get_num_interop_threads() -> int:
    """The number of inter-op threads."""
    return context.num_interop_threads


def set_num_interop_threads(num: int) -> None:
    """RuntimeError unless it is positive."""
    _check_threads("inter", "set_num_interop_threads", num)
    context.num_interop_threads = num


def _check_threads(kind: str, name: str, num: int) -> None:
    if not isinstance(num, int):
        raise TypeError(f"{name} expects an int, but got {type(num).__name__}")
    if num <= 0:
        kind_text = "number of threads" if kind == "intra" else "interop threads"
        raise RuntimeError(f"{name} expects a positive integer" if kind == "intra" else f"{name}: {kind_text}")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request deterministic kernels, which ours are anyway, and that memory is not left uninitialized."""
    context.deterministic = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether they were requested."""
    return context.deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether others would only warn."""
    return context.deterministic == 1


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2."""
    return context.deterministic


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0, 1 or 2, or its name. TypeError for another type, RuntimeError for another number or name."""
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
    """RuntimeError unless it is a bool. NB: the smallest numbers are never taken for 0, so enabling it fails."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


_PRECISIONS = ("highest", "high", "medium")


def get_float32_matmul_precision() -> str:
    """``highest`` by default."""
    return context.float32_matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Warn of an unknown precision."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )
        return
    context.float32_matmul_precision = precision


def compile(model: Any = None, **options: Any) -> Any:
    """The very function or module, with a warning: it runs as in PyTorch with ``TORCH_COMPILE_DISABLE=1``."""
    if model is None:
        return lambda function: compile(function, **options)
    warnings.warn(
        "dispatchviz's model of PyTorch has no compiler: what torch.compile was given runs operator by operator, as it "
        "does in PyTorch with TORCH_COMPILE_DISABLE=1",
        stacklevel=2,
    )
    return model


def compiled_with_cxx11_abi() -> bool:
    """True."""
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
