"""``torch.backends.cuda``: flags for products and attention on CUDA (``torch/backends/cuda/__init__.py``).

NB: the precision of products changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace

from dispatchviz.core.native.attention.sdp_backends import SDPBackend as SDPBackend
from dispatchviz.core.table.pytorch_registrations import chosen_build
from dispatchviz.core.thread.context import context

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built() -> bool:
    """Return whether the build has CUDA."""
    return chosen_build() == "cuda"


def _switch(name: str, what: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Return the getter and the setter of a flag."""

    def enabled() -> bool:
        return bool(getattr(context, name))

    def enable(enabled: bool) -> None:
        setattr(context, name, bool(enabled))

    enabled.__name__, enable.__name__ = f"{name}_enabled", f"enable_{name}"
    enabled.__doc__, enable.__doc__ = (
        f"Return whether {what} may compute attention.",
        f"Set whether {what} may compute attention.",
    )
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash_sdp", "the flash kernel")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient_sdp", "the memory-efficient kernel")
math_sdp_enabled, enable_math_sdp = _switch("math_sdp", "products one by one")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn_sdp", "cuDNN")


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> AbstractContextManager[dict[str, object]]:
    """Choose for a block the kernels that may compute attention. FutureWarning: use
    ``torch.nn.attention.sdpa_kernel``.
    """
    from dispatchviz.torch.nn.attention import sdpa_kernel  # circular: it reads this module's switches

    choices = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return sdpa_kernel([backend for backend, wanted in choices.items() if wanted])
