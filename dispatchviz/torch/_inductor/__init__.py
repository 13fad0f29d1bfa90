"""``torch._inductor``: options of the compiler that is not here."""

from __future__ import annotations

from dispatchviz.torch._inductor import config as config
