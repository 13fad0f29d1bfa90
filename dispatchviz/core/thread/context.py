"""Switches of the whole process (``aten/src/ATen/Context.h``), which ``torch.backends`` and others turn."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field


def default_threads() -> int:
    """The number of cores, or OMP_NUM_THREADS if that is smaller."""
    cores, requested = os.cpu_count() or 1, os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(requested)) if requested.isdigit() and int(requested) else cores


@dataclass
class Context:
    """What users have chosen."""

    user_enabled_cudnn: bool = True
    user_enabled_mkldnn: bool = True
    deterministic: int = 0
    """0: whatever is fastest, 1: warn of what is not deterministic, 2: refuse it."""
    fill_uninitialized_memory: bool = True
    """If deterministic kernels are requested."""
    float32_matmul_precision: str = "highest"
    flash_sdp: bool = True
    mem_efficient_sdp: bool = True
    math_sdp: bool = True
    cudnn_sdp: bool = True
    overrideable_sdp: bool = True
    sdp_priority_order: tuple[int, ...] = (1, 2, 0, 3, 4)
    """Numbers of ``SDPBackend``, the one to try first in front."""
    num_threads: int = field(default_factory=default_threads)
    """Of kernels (``at::get_num_threads``). Ours run on one; what PyTorch chooses by the number is chosen here too."""
    num_interop_threads: int = field(default_factory=default_threads)


context = Context()

GRAIN_SIZE = 32768
"""So many elements are worth a thread (``at::internal::GRAIN_SIZE``)."""


def exchange_context(new: Context) -> Context:
    """The switches as they were."""
    before = Context(**asdict(context))
    vars(context).update(asdict(new))
    return before
