"""The theme that the reader has chosen: kept in a small file of the user's state folder.

The file is written only when the reader chooses a theme. ``TEXTUAL_THEME`` comes before it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.foundation.reader_rights import has_files
from dispatchviz.views.layout.kept_layouts import layouts_file

VARIABLE = "TEXTUAL_THEME"


class Settings(msgspec.Struct, frozen=True):
    """What the file holds."""

    theme: str = ""


def settings_file() -> Path:
    """Return where it is: beside the kept layouts."""
    return layouts_file().with_name("settings.json")


def read_theme() -> str:
    """Return the name of the kept theme; empty without one, and where the environment names one."""
    if not has_files() or os.environ.get(VARIABLE):
        return ""
    try:
        return msgspec.json.decode(settings_file().read_bytes(), type=Settings).theme
    except (OSError, RuntimeError, msgspec.MsgspecError, UnicodeError):
        return ""


def write_theme(name: str) -> str:
    """Keep a theme; return why that failed, or an empty text."""
    if not has_files():
        return ""
    try:
        file = settings_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.format(msgspec.json.encode(Settings(name))) + b"\n")
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""
