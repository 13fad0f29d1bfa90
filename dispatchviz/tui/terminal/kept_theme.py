"""The reader's theme, stored in a small file of the user's state folder.

The file is written only when the reader chooses a theme. ``TEXTUAL_THEME`` takes precedence.
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
    """The contents of the file."""

    theme: str = ""


def settings_file() -> Path:
    """Return the path of the file, which is beside the stored layouts."""
    return layouts_file().with_name("settings.json")


def read_theme() -> str:
    """Return the name of the stored theme; empty if there is none, or if the environment names one."""
    if not has_files() or os.environ.get(VARIABLE):
        return ""
    try:
        return msgspec.json.decode(settings_file().read_bytes(), type=Settings).theme
    except (OSError, RuntimeError, msgspec.MsgspecError, UnicodeError):
        return ""


def write_theme(name: str) -> str:
    """Store a theme. Return an error text, or an empty text on success."""
    if not has_files():
        return ""
    try:
        file = settings_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.format(msgspec.json.encode(Settings(name))) + b"\n")
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""
