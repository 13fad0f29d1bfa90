"""Switches of the whole process (``aten/src/ATen/Context.h``), which ``torch.backends`` and others turn."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Context:
    """What users have chosen."""

    user_enabled_cudnn: bool = True
    user_enabled_mkldnn: bool = True
    deterministic: int = 0
    """0: whatever is fastest, 1: warn of what is not deterministic, 2: refuse it."""
    float32_matmul_precision: str = "highest"
    flash_sdp: bool = True
    mem_efficient_sdp: bool = True
    math_sdp: bool = True
    cudnn_sdp: bool = True
    overrideable_sdp: bool = True
    sdp_priority_order: tuple[int, ...] = (1, 2, 0, 3, 4)
    """Numbers of ``SDPBackend``, the one to try first in front."""


context = Context()


def exchange_context(new: Context) -> Context:
    """The switches as they were."""
    before = Context(**asdict(context))
    vars(context).update(asdict(new))
    return before
