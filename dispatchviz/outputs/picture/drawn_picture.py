"""A drawing as a picture: files by suffix, and the display in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.outputs.picture.dot import Drawing
from dispatchviz.outputs.picture.picture_options import Theme
from dispatchviz.outputs.picture.png import png
from dispatchviz.outputs.picture.svg import RenderError, pdf, svg


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture, as ``trace.call_graph()`` and its siblings return it."""

    drawing: Drawing = field(repr=False)
    note: str = ""
    """The parts that are left out; empty if nothing is."""

    def dot(self) -> str:
        """Return the picture in Graphviz's language."""
        return self.drawing.source

    def svg(self, *, theme: Theme = "light") -> str:
        """Return the picture as SVG. Raise RenderError if no layout program can draw it."""
        return svg(self.drawing, theme)

    def _repr_svg_(self) -> str:
        """Return the SVG for notebooks."""
        return self.svg()

    def _repr_html_(self) -> str:
        """Return the picture for a notebook that is not trusted: an image, which no front end removes."""
        from dispatchviz.outputs.cell.html import image

        return image(self.svg(), "A picture of the trace")

    def data(self, suffix: str, theme: Theme = "light") -> bytes:
        """Return the content of a file with one of ``picture_file.SUFFIXES``. Raise RenderError if it cannot be
        made.
        """
        check_theme(suffix, theme)
        forms: dict[str, Callable[[], bytes]] = {
            ".dot": lambda: self.drawing.source.encode(),
            ".svg": lambda: self.svg(theme=theme).encode(),
            ".png": lambda: png(self.svg(theme=theme)),
            ".pdf": lambda: pdf(self.drawing),
        }
        return forms[suffix]()

    def render(self, path: str | Path, *, theme: Theme = "light") -> str:
        """Write the file in the format of its suffix. Return the note. Raise RenderError if that fails."""
        write_picture(path, self.data(suffix_of(path), theme))
        return self.note


SUFFIXES = (".dot", ".svg", ".png", ".pdf")
"""The suffixes of the files that can be written."""


def suffix_of(path: str | Path) -> str:
    """Return one of ``SUFFIXES``. Raise RenderError for a file with another suffix."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise RenderError(f"cannot write {target.name}: the suffix must be one of {', '.join(SUFFIXES)}")
    return suffix


def check_theme(suffix: str, theme: Theme) -> None:
    """Raise RenderError if pictures with this suffix do not have the theme."""
    if theme == "auto" and suffix != ".svg":
        raise RenderError(f"the theme auto is only for .svg, which a browser draws: choose light or dark for {suffix}")
    if theme == "dark" and suffix not in (".svg", ".png"):
        raise RenderError(f"the theme dark is only for .svg and .png: a {suffix} is always light")


def write_picture(path: str | Path, data: bytes) -> None:
    """Write the file. Raise RenderError if that fails."""
    target = Path(path)
    try:
        write_whole(target, data)
    except OSError as error:
        raise RenderError(f"cannot write {target}: {error.strerror}") from None
