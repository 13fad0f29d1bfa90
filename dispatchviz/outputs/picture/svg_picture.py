"""A picture that is written as SVG directly, without a layout program."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dispatchviz.outputs.picture.drawn_picture import check_theme, suffix_of, write_picture
from dispatchviz.outputs.picture.picture_options import Theme
from dispatchviz.outputs.picture.png import png
from dispatchviz.outputs.picture.svg import RenderError
from dispatchviz.outputs.picture.theme import themed


@dataclass(frozen=True, slots=True)
class SvgPicture:
    """A picture, as ``trace.saved_memory()`` returns it."""

    light: str = field(repr=False)
    """The SVG in light colors."""
    note: str = ""
    """The parts that are left out; empty if nothing is."""

    def svg(self, *, theme: Theme = "light") -> str:
        """Return the picture as SVG."""
        return themed(self.light, theme)

    def _repr_svg_(self) -> str:
        """Return the SVG for notebooks."""
        return self.svg()

    def _repr_html_(self) -> str:
        """Return the picture for a notebook that is not trusted: an image, which no front end removes."""
        from dispatchviz.outputs.cell.html import image

        return image(self.svg(), "A picture of the trace")

    def data(self, suffix: str, theme: Theme = "light") -> bytes:
        """Return the content of a .svg or .png file. Raise RenderError for other suffixes."""
        check_theme(suffix, theme)
        if suffix == ".svg":
            return self.svg(theme=theme).encode()
        if suffix == ".png":
            return png(self.svg(theme=theme))
        raise RenderError(f"cannot write {suffix}: this picture has no graph. Choose .svg or .png")

    def render(self, path: str | Path, *, theme: Theme = "light") -> str:
        """Write the file in the format of its suffix. Return the note. Raise RenderError if that fails."""
        write_picture(path, self.data(suffix_of(path), theme))
        return self.note
