"""The page: template, style sheet, scripts and a trace's data, joined to one file that needs no network.

Its content security policy names the style sheet and the scripts by their hashes and allows nothing else: no request
and no other script, whichever texts the trace has. All but a few lines (``boot.js``) is compressed JSON in a block that
no browser executes.
"""

from __future__ import annotations

import base64
import gzip
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.garbage_collection import collector_waits
from dispatchviz.outputs.page.gallery_links import GalleryLinks, link_to_contents
from dispatchviz.outputs.page.lean_assets import LEAN
from dispatchviz.outputs.page.player_data import player_data
from dispatchviz.outputs.page.template import filled, hash_of
from dispatchviz.views.text.prose import without_backticks

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide

SCRIPTS = (
    "data.js",
    "glossary.js",
    "lines.js",
    "tree.js",
    "moves.js",
    "asking.js",
    "steps.js",
    "panes.js",
    "graph.js",
    "search.js",
    "dialogs.js",
    "stops.js",
    "texts.js",
    "playing.js",
    "keys.js",
    "touch.js",
    "paper.js",
    "page.js",
)
"""The scripts in the order in which they are joined. Each uses those before it."""


def player_page(trace: Trace, guide: Guide | None = None, links: GalleryLinks | None = None) -> bytes:
    """Return a trace as one HTML file, with the passages of a lesson if there is a guide, and the links of a gallery.

    The same trace gives the same bytes. Raise DispatchvizError if nothing was recorded.
    """
    if not len(trace):
        raise DispatchvizError(f"{trace.header.program}: nothing was recorded, so there are no steps to show")
    style, script, boot = _asset("player.css"), "\n".join(map(_asset, SCRIPTS)), _asset("boot.js")
    with collector_waits():
        recorded = player_data(trace, guide, links)
    parts = {
        "title": escape(without_backticks(guide.lesson.title) if guide else PurePath(trace.header.program).name),
        "style-hash": hash_of(style),
        "script-hash": hash_of(script),
        "contents": link_to_contents(links) if links else "",
        "boot": boot,
        "boot-hash": hash_of(boot),
        "packed": _packed({"script": script, "style": style, "recorded": recorded}),
    }
    return filled(_asset("page.html"), parts).encode()


def _packed(page: dict[str, object]) -> str:
    """Return compressed JSON in characters that have no meaning in HTML."""
    packed = gzip.compress(msgspec.json.encode(page), 9, mtime=0)
    return base64.b85encode(packed).translate(bytes.maketrans(SPECIAL, PLAIN)).decode()


SPECIAL, PLAIN = b"<>&{}`", b"/,.:[]"
"""The characters of base 85 that have a meaning elsewhere, and their replacements."""


@cache
def _asset(name: str) -> str:
    text = (files("dispatchviz.outputs.page") / "assets" / name).read_text("utf-8")
    return LEAN[PurePath(name).suffix](text)
