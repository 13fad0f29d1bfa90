"""The command line of a new Python that runs a ``main`` of this package.

``python -m`` would look for every module in the working folder first, and whoever learns has a ``random.py`` there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_FOLDER = Path(__file__).parents[1]
"""Where this package is found, installed or not."""

_BEGIN = """\
import sys
_, folder, scripts = sys.argv[:3]
if not sys.flags.safe_path:
    sys.path[0] = scripts
if folder not in sys.path:
    sys.path.append(folder)
del sys.argv[1:3], folder, scripts, _
from {module} import main
sys.exit(main())
"""
"""``sys.path`` begins as it does for the command ``dispatchviz``: with the folder of scripts."""


def running(module: str, words: Sequence[str]) -> list[str]:
    """Runs ``main()`` of a module, with words as its arguments."""
    scripts = str(Path(sys.executable).parent)
    return [sys.executable, "-c", _BEGIN.format(module=module), str(_FOLDER), scripts, *words]
