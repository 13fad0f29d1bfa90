"""Waiting for an event on a busy machine: no test measures time, and a limit only ends a test that hangs."""

from __future__ import annotations

HANGS = 300.0
"""Seconds after which a test hangs: many times what anything here takes, and less than the gate may take, so that the
gate names the test.
"""
