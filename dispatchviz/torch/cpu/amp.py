"""``torch.cpu.amp`` (``torch/cpu/amp/autocast_mode.py``): the deprecated form of ``torch.amp``."""

from __future__ import annotations

import warnings

from dispatchviz.core.dtype import DType, bfloat16
from dispatchviz.torch.amp.autocast_mode import autocast as _autocast


class autocast(_autocast):
    """``torch.amp.autocast("cpu")``"""

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
