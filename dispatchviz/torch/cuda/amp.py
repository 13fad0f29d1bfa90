"""``torch.cuda.amp`` (``torch/cuda/amp/autocast_mode.py``): the deprecated form of ``torch.amp``."""

from __future__ import annotations

import warnings

from dispatchviz.core.dtype import DType, float16
from dispatchviz.torch.amp.autocast_mode import autocast as _autocast


class autocast(_autocast):
    """``torch.amp.autocast("cuda")``"""

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. "
            "Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", dtype, enabled, cache_enabled)
