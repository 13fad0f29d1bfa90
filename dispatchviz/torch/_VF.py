"""``torch._VF``: the functions of ``torch`` that ``torch.nn`` calls by this name (``torch/_VF.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import python_bindings


def __getattr__(name: str) -> Any:
    return getattr(python_bindings, name)
