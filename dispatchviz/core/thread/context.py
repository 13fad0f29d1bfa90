"""Switches of the whole process (``aten/src/ATen/Context.h``), which ``torch.backends`` and other modules set."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field


def default_threads() -> int:
    """The number of cores, or OMP_NUM_THREADS if that is smaller."""
    cores, requested = os.cpu_count() or 1, os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(requested)) if requested.isdigit() and int(requested) else cores


@dataclass
class Context:
    """The settings of the process."""

    user_enabled_cudnn: bool = True
    user_enabled_mkldnn: bool = True
    deterministic: int = 0
    """0: use the fastest kernels, 1: warn about kernels that are not deterministic, 2: refuse them."""
    fill_uninitialized_memory: bool = True
    """True if new memory is filled when deterministic kernels are requested."""
    float32_matmul_precision: str = "highest"
    flash_sdp: bool = True
    mem_efficient_sdp: bool = True
    math_sdp: bool = True
    cudnn_sdp: bool = True
    overrideable_sdp: bool = True
    sdp_priority_order: tuple[int, ...] = (1, 2, 0, 3, 4)
    """Numbers of ``SDPBackend``, in the order in which they are tried."""
    num_threads: int = field(default_factory=default_threads)
    """The number of threads of kernels (``at::get_num_threads``). Kernels here run on one thread, but make the same
    choices by this number as PyTorch's.
    """
    num_interop_threads: int = field(default_factory=default_threads)


context = Context()

GRAIN_SIZE = 32768
"""The number of elements that make another thread worthwhile (``at::internal::GRAIN_SIZE``)."""


def exchange_context(new: Context) -> Context:
    """Set all switches. Return the previous ones."""
    before = Context(**asdict(context))
    vars(context).update(asdict(new))
    return before
