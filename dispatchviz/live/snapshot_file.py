"""Names and first bytes of snapshot files, cheap to import: a command checks them before it asks a PyTorch."""

from __future__ import annotations

import re

from dispatchviz.foundation.compressed import beginning_of

SNAPSHOTS = (".json", ".json.gz")
"""Suffixes."""

SNAPSHOT = re.compile(rb'\s*\{\s*"dispatchviz_snapshot"')
"""How a snapshot of an installed PyTorch's registrations begins."""


def looks_like_snapshot(raw: bytes) -> bool:
    """Return whether some bytes begin as a snapshot does. Looks into compressed files."""
    return bool(SNAPSHOT.match(beginning_of(raw)))
