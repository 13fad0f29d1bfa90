"""The places of the packed events in a ``.dvtrace`` file."""

from __future__ import annotations

from dispatchviz.core.record.trace_file.blocks import EVENTS, scan
from dispatchviz.core.record.trace_file.stored_events import BytesSource


def packs(raw: bytes) -> list[int]:
    """Return the offset of each pack."""
    return [found.offset for found in scan(BytesSource(raw)) if found.kind == EVENTS]
