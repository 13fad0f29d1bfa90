"""``torch`` as its own Python code sees it: the whole face, with everything that users find there."""

from __future__ import annotations

from typing import Any

import dispatchviz.torch as _face

torch: Any = _face
"""Names are looked up when they are used, so that parts of the face may be imported in any order."""
