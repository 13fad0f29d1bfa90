"""SVG to PNG, by the extra ``png``.

Where there are no fonts, its renderer leaves the texts out without an error: that is checked.
"""

from __future__ import annotations

import re

from dispatchviz.render.graph.svg import RenderError

DPI = 96
"""SVG sizes are in points of 1/72 inch; without this the renderer takes them as pixels of unknown size."""

ZOOM = 2.0
"""Pixels per CSS pixel: sharp on a projector."""


def png(picture: str) -> bytes:
    """The picture as PNG.

    Raises RenderError if the extra is not installed, the renderer fails, or no text comes out.
    """
    drawn = _drawn(picture)
    if "<text" in picture and drawn == _drawn(_without_texts(picture)):
        raise RenderError("the PNG would have no texts, because no font was found: install one (fonts-dejavu-core)")
    return drawn


def _drawn(picture: str) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise RenderError("PNG needs the extra `png`: pip install 'dispatchviz[png]', or write .svg") from None
    try:
        return bytes(resvg_py.svg_to_bytes(svg_string=picture, dpi=DPI, zoom=ZOOM))
    except Exception as error:
        raise RenderError(f"cannot make a PNG: {error}: write .svg") from None


def _without_texts(picture: str) -> str:
    return re.sub(r"<text\b.*?</text>", "", picture, flags=re.DOTALL)
