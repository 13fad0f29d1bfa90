"""Waiting for an event on a busy machine: no test measures time, and a limit only ends a test that hangs."""

from __future__ import annotations

HANGS = 900.0
"""Seconds after which a test hangs: hundreds of times what anything here takes."""
