"""``torch._inductor``: options of a compiler that the model does not have."""

from __future__ import annotations

from dispatchviz.torch._inductor import config as config
