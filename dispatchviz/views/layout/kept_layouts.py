"""The panes that the reader has chosen for kinds of steps, in a small file in the user's state folder.

The file is read once, and written only when the reader changes a choice. A first run leaves no file behind.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.foundation.reader_rights import has_files
from dispatchviz.views.layout.pane_layout import PANE_NAMES

_NUMBERS = {name: number for number, name in PANE_NAMES.items()}


def layouts_file() -> Path:
    """The path of the file, in ``XDG_STATE_HOME`` or the system's usual place."""
    given = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".local" / "state") / "dispatchviz" / "layouts.json"


def read_layouts() -> dict[str, tuple[int, ...]]:
    """The panes for each group of steps; empty if the file does not exist, is unreadable, or the reader has no right to
    it.
    """
    if not has_files():
        return {}
    try:
        names = msgspec.json.decode(layouts_file().read_bytes(), type=dict[str, list[str]])
    except (OSError, RuntimeError, msgspec.MsgspecError, UnicodeError):
        return {}
    return {group: tuple(_NUMBERS[name] for name in panes if name in _NUMBERS) for group, panes in names.items()}


def write_layouts(kept: dict[str, tuple[int, ...]]) -> str:
    """Write the choices. Return an error text, or an empty text on success."""
    names = {group: [PANE_NAMES[pane] for pane in panes] for group, panes in kept.items()}
    try:
        file = layouts_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.format(msgspec.json.encode(names)) + b"\n")
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""
