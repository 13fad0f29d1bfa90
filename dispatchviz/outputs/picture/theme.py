"""The dark colors of a picture: a dark counterpart for each light color.

A picture has its colors as attributes of its shapes. A dark picture has them replaced. A picture that follows the
reader's browser has additional CSS rules, which override the attributes.
"""

from __future__ import annotations

import re

from dispatchviz.outputs.picture.picture_options import Theme

DARK = {
    "black": "#f2f2f2",
    "#ffffff": "#14171a",
    "#000000": "#f2f2f2",
    "#555555": "#b4b9be",
    "#fdf6c9": "#3d3708",
    "#6e6200": "#e2d060",
    "#fbe0a8": "#4a3200",
    "#8a5a00": "#f0b84c",
    "#f4f4f4": "#23272b",
    "#777777": "#9aa0a6",
    "#f9c4a0": "#5a2400",
    "#b34700": "#ff9a57",
    "#d3e7f5": "#123247",
    "#005b8f": "#74bce8",
    "#e9f1f7": "#1b2830",
    "#f3ddeb": "#40203a",
    "#8a3a69": "#e29ac6",
    "#333333": "#c9cdd1",
    "#888888": "#8d9399",
    "#444444": "#bcc1c6",
    "#fafaf5": "#1c1e1a",
    "#8a8a6a": "#a3a384",
    "#6a6a4a": "#c3c3a0",
    "#f4f4e8": "#24261f",
    "#dff0d8": "#17351f",
    "#2f6b3c": "#7fca92",
}
"""The dark counterpart of every color that a picture may have."""

TEXT = "#e8eaec"
"""The color of shapes without a color of their own, which are black in the light theme."""

_TAG = re.compile(r"<[^<>]+>")
_COLOR = re.compile(r'\b(fill|stroke)="(#[0-9a-fA-F]{6}|black)"')


def themed(picture: str, theme: Theme) -> str:
    """Return an SVG in the colors of a theme. The texts are unchanged."""
    if theme == "light":
        return picture
    if theme == "dark":
        dark = _TAG.sub(lambda tag: _COLOR.sub(_dark, tag[0]), picture)
        return _begun(dark, f' fill="{TEXT}"', "")
    return _begun(picture, ' class="dispatchviz"', _style(picture))


def _style(picture: str) -> str:
    found = {pair for tag in _TAG.findall(picture) for pair in _COLOR.findall(tag)}
    used = sorted((kind, color) for kind, color in found if color.lower() in DARK)
    rules = [f'svg.dispatchviz [{kind}="{color}"]{{{kind}:{DARK[color.lower()]}}}' for kind, color in used]
    lines = "\n".join(["@media (prefers-color-scheme: dark) {", f"svg.dispatchviz{{fill:{TEXT}}}", *rules, "}"])
    return f"<style>{lines}</style>\n"


def _dark(found: re.Match[str]) -> str:
    return f'{found[1]}="{DARK.get(found[2].lower(), found[2])}"'


def _begun(picture: str, attributes: str, inside: str) -> str:
    """Return an SVG with additional attributes and additional content at its beginning."""
    return re.sub(r"<svg\b([^>]*)>", lambda found: f"<svg{found[1]}{attributes}>{inside}", picture, count=1)
