"""``torch._C._log_api_usage_once``: packages say with it that one of their classes is used."""

from __future__ import annotations


def _log_api_usage_once(event: str, /) -> None:
    """Tells nobody, as a PyTorch in which no program has set a logger (``LogAPIUsageOnceFromPython`` in
    ``torch/csrc/Module.cpp``). TypeError if it is no text."""
    if not isinstance(event, str):
        raise TypeError("bad argument type for built-in operation")
