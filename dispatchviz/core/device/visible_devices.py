"""``CUDA_VISIBLE_DEVICES``: whether it leaves a CUDA device (``_parse_visible_devices`` of ``torch/cuda/__init__.py``).

NB: it renumbers the devices of a machine. Here there is one device, so that any first entry, ``1`` or ``GPU-8932f937``,
may stand for it, and ``0,1`` names one as on a machine that has one.
"""

from __future__ import annotations

import re

VARIABLE = "CUDA_VISIBLE_DEVICES"


def names_a_device(value: str | None) -> bool:
    """Whether the variable leaves a device. A list ends before its first bad entry; a repeated entry makes it empty."""
    if value is None:
        return True
    entries: list[object] = []
    kind = next((prefix for prefix in ("GPU-", "MIG-") if value.startswith(prefix)), "")
    for text in value.split(","):
        entry = _identifier(text, kind) if kind else _ordinal(text.strip())
        if entry in entries:
            return False
        if entry is None:
            break
        entries.append(entry)
    return bool(entries)


def _identifier(text: str, kind: str) -> str | None:
    return text if text.startswith(kind) else None


def _ordinal(text: str) -> int | None:
    """The number with which a text begins, as ``strtoul`` reads it; None if it is negative or there is none."""
    number = re.match(r"[+-]?\d+", text)
    return None if number is None or int(number[0]) < 0 else int(number[0])
