"""Names and first bytes of snapshot files. This module is cheap to import, because a command checks them before it
loads PyTorch.
"""

from __future__ import annotations

import re

from dispatchviz.foundation.compressed import beginning_of

SNAPSHOTS = (".json", ".json.gz")
"""The suffixes of snapshot files."""

SNAPSHOT = re.compile(rb'\s*\{\s*"dispatchviz_snapshot"')
"""The first bytes of a snapshot of an installed PyTorch's registrations."""


def looks_like_snapshot(raw: bytes) -> bool:
    """Return whether some bytes, compressed or not, begin as a snapshot does."""
    return bool(SNAPSHOT.match(beginning_of(raw)))
