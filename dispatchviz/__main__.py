"""``python -m dispatchviz``: the same as the command ``dispatchviz``."""

from __future__ import annotations

import sys

from dispatchviz.cli import main

sys.exit(main())
