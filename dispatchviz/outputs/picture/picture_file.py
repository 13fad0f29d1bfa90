"""Pictures as files: the suffix says what is written."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.outputs.picture.picture_options import Theme
from dispatchviz.outputs.picture.svg import RenderError

SUFFIXES = (".dot", ".svg", ".png", ".pdf")
"""Of the files that can be written."""


def suffix_of(path: str | Path) -> str:
    """One of ``SUFFIXES``. RenderError for a file with another."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise RenderError(f"cannot write {target.name}: the suffix must be one of {', '.join(SUFFIXES)}")
    return suffix


def check_theme(suffix: str, theme: Theme) -> None:
    """Raises RenderError for a theme that pictures of a form do not have."""
    if theme == "auto" and suffix != ".svg":
        raise RenderError(f"the theme auto is for .svg, which a browser draws: a {suffix} is light or dark")
    if theme == "dark" and suffix not in (".svg", ".png"):
        raise RenderError(f"the theme dark is for .svg and .png: a {suffix} is light")


def write_picture(path: str | Path, data: bytes) -> None:
    """Writes the file. RenderError if that cannot be done."""
    target = Path(path)
    try:
        write_whole(target, data)
    except OSError as error:
        raise RenderError(f"cannot write {target}: {error.strerror}") from None
