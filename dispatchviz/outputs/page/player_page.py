"""The page: template, style sheet, scripts and a trace's data, joined to one file that asks nobody for anything.

Its content security policy names the style sheet and the scripts by their hashes and allows nothing else: no request,
no other script, whatever texts the trace has. All but a few lines (``boot.js``) is JSON, compressed, in a block that no
browser executes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePath

import msgspec

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.lessons.guide import Guide
from dispatchviz.outputs.page.player_data import player_data

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
"""In the order in which they are joined to one; each uses those before it."""


def player_page(trace: Trace, guide: Guide | None = None) -> bytes:
    """A trace as one HTML file; with the passages of a lesson if there is a guide. The same trace gives the same bytes.

    Raises DispatchvizError if nothing was recorded.
    """
    if not len(trace):
        raise DispatchvizError(f"{trace.header.program}: nothing was recorded, so there are no steps to show")
    style, script, boot = _asset("player.css"), "\n".join(map(_asset, SCRIPTS)), _asset("boot.js")
    parts = {
        "title": escape(guide.lesson.title if guide else PurePath(trace.header.program).name),
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "boot": boot,
        "boot-hash": _hash(boot),
        "packed": _packed({"style": style, "script": script, "recorded": player_data(trace, guide)}),
    }
    return _filled(_asset("page.html"), parts).encode()


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with a part for each ``{{name}}``; what a part contains is not looked at again."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def _packed(page: dict[str, object]) -> str:
    """JSON, compressed, in characters that mean nothing in HTML."""
    packed = gzip.compress(msgspec.json.encode(page), 9, mtime=0)
    return base64.b85encode(packed).translate(bytes.maketrans(SPECIAL, PLAIN)).decode()


SPECIAL, PLAIN = b"<>&{}`", b"/,.:[]"
"""Characters of base 85 that mean something elsewhere, and those that stand for them."""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    text = (files("dispatchviz.outputs.page") / "assets" / name).read_text("utf-8")
    return text if name.endswith(".html") else _lean(text)


def _lean(text: str) -> str:
    """A script or a style sheet without what only its authors read: comments on lines of their own, indents."""
    return "".join(f"{line.strip()}\n" for line in COMMENT.sub("", text).splitlines() if line.strip())


COMMENT = re.compile(r"^[ \t]*(//[^\n]*|/\*.*?\*/[ \t]*)$", re.MULTILINE | re.DOTALL)
