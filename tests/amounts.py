"""How many random cases a test tries: few in the gate, which has its minutes, more with ``make thorough``."""

from __future__ import annotations

import os

THOROUGH = "DISPATCHVIZ_THOROUGH" in os.environ


def amount(gate: int, thorough: int) -> int:
    """So many programs, seeds or samples."""
    return thorough if THOROUGH else gate
