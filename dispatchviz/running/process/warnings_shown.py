"""Telling of the warnings that Python shows: those that pass the filters, whoever issued them.

Every one of them goes through ``warnings._showwarnmsg``, from C too, which then looks for a ``showwarning`` of the
program's and for ``catch_warnings(record=True)``. Only that private function is replaced: the public ones, the
filters and the registries of modules are the program's alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.seam.outside_errors import own_errors_suppressed

Tell = Callable[[str, str, str, int], object]
"""Gets the category's name, the text, file and line."""


@contextmanager
def told_of_warnings(tell: Tell) -> Iterator[None]:
    """Inside the block every warning that is shown is told first."""
    space: dict[str, Any] = vars(warnings)
    show = space["_showwarnmsg"]

    def showwarnmsg(shown: warnings.WarningMessage) -> None:
        with own_errors_suppressed(Exception):  # a text that cannot be made is for Python to complain of
            tell(shown.category.__name__, str(shown.message), shown.filename, shown.lineno)
        show(shown)

    space["_showwarnmsg"] = showwarnmsg
    try:
        yield
    finally:
        space["_showwarnmsg"] = show
