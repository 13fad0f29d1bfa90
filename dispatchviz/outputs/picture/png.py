"""SVG to PNG, by the extra ``png``.

If there are no fonts, its renderer leaves out the texts without an error, so this module checks for them.
"""

from __future__ import annotations

import re
from math import sqrt

from dispatchviz.outputs.picture.svg import FONTS, RenderError

DPI = 96
"""The resolution. SVG sizes are in points of 1/72 inch; without this the renderer takes them as pixels of unknown
size.
"""

ZOOM = 2.0
"""The number of pixels for each CSS pixel, which is sharp on a projector."""

MOST_PIXELS = 80_000_000
"""The number of pixels above which a picture is made smaller. It would need more memory than many machines have."""


def png(picture: str) -> bytes:
    """Return the picture as PNG.

    Raise RenderError if the extra is not installed, the renderer fails, or the picture has no text.
    """
    if "<text" in picture and _drawn(SAMPLE.format("x")) == _drawn(SAMPLE.format("")):
        raise RenderError("the PNG would have no texts, because no font was found: install one (fonts-dejavu-core)")
    return _drawn(picture)


def _drawn(picture: str) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise RenderError("PNG needs the extra `png`: pip install 'dispatchviz[png]', or write .svg") from None
    try:
        return bytes(resvg_py.svg_to_bytes(svg_string=picture, dpi=DPI, zoom=_zoom(picture)))
    except Exception as error:
        raise RenderError(f"cannot make a PNG: {error}: write .svg") from None


def _zoom(picture: str) -> float:
    sizes = re.search(r'<svg[^>]*?\swidth="([\d.]+)(?:pt)?"\s+height="([\d.]+)(?:pt)?"', picture)
    pixels = float(sizes[1]) * float(sizes[2]) * (DPI / 72) ** 2 if sizes else 0
    return min(ZOOM, sqrt(MOST_PIXELS / pixels)) if pixels else ZOOM


SAMPLE = f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30"><text y="20" font-family="{FONTS}">{{}}</text></svg>"""
"""A picture with one text in our fonts."""
