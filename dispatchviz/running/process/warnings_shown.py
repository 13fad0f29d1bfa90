"""Notices of the warnings that Python shows: those that pass the filters, from any source.

Each one goes through ``warnings._showwarnmsg``, from C too, which then looks for a ``showwarning`` of the program and
for ``catch_warnings(record=True)``. Only that private function is replaced. The public ones, the filters and the
registries of modules belong to the program alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.seam.outside_errors import own_errors_suppressed

Report = Callable[[str, str, str, int], object]
"""A function that takes the category's name, the text, the file and the line."""


@contextmanager
def reporting_warnings(report: Report) -> Iterator[None]:
    """Call ``report`` for every warning before it is shown, inside the block."""
    space: dict[str, Any] = vars(warnings)
    show = space["_showwarnmsg"]

    def showwarnmsg(shown: warnings.WarningMessage) -> None:
        with own_errors_suppressed(Exception):  # Python itself reports a text that cannot be made
            report(shown.category.__name__, str(shown.message), shown.filename, shown.lineno)
        show(shown)

    space["_showwarnmsg"] = showwarnmsg
    try:
        yield
    finally:
        space["_showwarnmsg"] = show
