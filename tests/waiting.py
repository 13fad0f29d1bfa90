"""Waiting for what must come, on a machine that may be busy: no test measures time, a limit only ends what hangs."""

from __future__ import annotations

HANGS = 900.0
"""Seconds after which nothing comes any more: hundreds of times what anything here takes."""
