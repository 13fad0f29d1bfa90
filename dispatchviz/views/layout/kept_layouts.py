"""The panes that the reader has kept for kinds of steps: a small file in the user's state folder.

It is read once, and written only when the reader changes what is kept: a first run leaves nothing behind.
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
    """Where it is: ``XDG_STATE_HOME`` or the system's usual place."""
    given = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".local" / "state") / "dispatchviz" / "layouts.json"


def read_layouts() -> dict[str, tuple[int, ...]]:
    """Group of steps to panes; nothing where there is no file, or none that can be read, or that the reader may."""
    if not has_files():
        return {}
    try:
        names = msgspec.json.decode(layouts_file().read_bytes(), type=dict[str, list[str]])
    except (OSError, RuntimeError, msgspec.MsgspecError, UnicodeError):
        return {}
    return {group: tuple(_NUMBERS[name] for name in panes if name in _NUMBERS) for group, panes in names.items()}


def write_layouts(kept: dict[str, tuple[int, ...]]) -> str:
    """Write them; return why that failed, or an empty text."""
    names = {group: [PANE_NAMES[pane] for pane in panes] for group, panes in kept.items()}
    try:
        file = layouts_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.format(msgspec.json.encode(names)) + b"\n")
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""
