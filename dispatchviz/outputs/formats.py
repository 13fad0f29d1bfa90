"""All formats for files that are made from a trace. The suffix of a file name selects the format.

A new format is a module or folder with a ``Format``, and a name in ``FORMATS``. Suffixes, errors, help, checks and the
command ``export`` follow from that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.hand_out.format import HAND_OUT
from dispatchviz.outputs.log.format import LOG
from dispatchviz.outputs.page.format import PAGE
from dispatchviz.outputs.perfetto.format import PERFETTO
from dispatchviz.outputs.picture.format import PICTURE
from dispatchviz.outputs.table.format import TABLE
from dispatchviz.outputs.trace_files import TRACE
from dispatchviz.outputs.written_files import STANDARD_OUTPUT

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.outputs.picture.chosen_picture import Chosen

FORMATS: tuple[Format, ...] = (PICTURE, TRACE, TABLE, PAGE, PERFETTO, LOG, HAND_OUT)
"""The formats in the order of the help and of errors."""


def format_of(suffix: str) -> Format:
    """Return the format of a suffix."""
    return next(each for each in FORMATS if suffix in each.suffixes)


def suffix_of(path: str | Path) -> str:
    """Return the suffix of a file that ``export`` can write, or an empty text."""
    name = Path(path).name.lower()
    return next((suffix for each in FORMATS for suffix in each.suffixes if name.endswith(suffix)), "")


def check_suffix(path: str | Path) -> str:
    """Return the suffix of a file to write. Raise DispatchvizError, which lists all formats, if the suffix is
    unknown.
    """
    if suffix := suffix_of(path):
        return suffix
    raise DispatchvizError(f"cannot write {path}. {'. '.join(each.listed for each in FORMATS)}")


def check_export(path: str, suffix: str) -> None:
    """Raise DispatchvizError if a file of that suffix cannot be written there."""
    found = format_of(suffix)
    if path != STANDARD_OUTPUT:
        found.check(path, suffix)
    elif suffix in found.binary and sys.stdout.isatty():
        raise DispatchvizError(f"{suffix} is not text for a terminal: write it to a file with -o, or to a pipe")


def export(trace: Trace, path: str | Path, suffix: str = "", chosen: Chosen | None = None) -> str:
    """Write a file in the format of ``suffix`` or else of its own suffix; ``-`` is standard output.

    ``chosen`` selects a picture; the default is the backward graph. Return a note about the file, which may be empty.
    Raise DispatchvizError or RenderError if the file cannot be written.
    """
    suffix = suffix or check_suffix(path)
    return format_of(suffix).write(trace, Request(str(path), suffix, chosen))
