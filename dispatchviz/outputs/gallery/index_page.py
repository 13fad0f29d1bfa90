"""The page that lists the pages of a gallery. It has no script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import quote

from dispatchviz.outputs.page.template import filled, hash_of

BEGINS = re.compile(rb'<meta name="generator" content="dispatchviz gallery">')
"""The text in the first bytes of each of our lists."""


class Entry(NamedTuple):
    """A page of the gallery."""

    file: str
    """Its path from the folder, with slashes."""
    title: str
    """Its title, with code in backticks."""
    text: str = ""
    """A description in one line, with code in backticks."""


class Group(NamedTuple):
    """Pages of one kind."""

    title: str
    text: str
    entries: Sequence[Entry]


def index_page(groups: Sequence[Group]) -> bytes:
    """Return the list of the pages as an HTML file."""
    style = _asset("gallery.css")
    parts = {
        "style": style,
        "style-hash": hash_of(style),
        "contents": "\n".join(f'<a href="#{_anchor(one)}">{escape(one.title)}</a>' for one in groups),
        "groups": "\n".join(line for group in groups for line in _lines(group)),
    }
    return filled(_asset("index.html"), parts).encode()


def _lines(group: Group) -> Iterator[str]:
    yield f'<section aria-labelledby="{_anchor(group)}">'
    yield f'<h2 id="{_anchor(group)}">{escape(group.title)}</h2>'
    yield f"<p>{_marked(group.text)}</p>"
    yield "<ol>"
    for entry in group.entries:
        text = f"<span>{_marked(entry.text)}</span>" if entry.text else ""
        yield f'<li><a href="{escape(quote(entry.file))}">{_marked(entry.title)}</a>{text}</li>'
    yield "</ol>"
    yield "</section>"


def _anchor(group: Group) -> str:
    return re.sub(r"\W+", "-", group.title.lower())


def _marked(text: str) -> str:
    """Return a text as HTML, with code for what is in backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


@cache
def _asset(name: str) -> str:
    return (files("dispatchviz.outputs.gallery") / "assets" / name).read_text("utf-8")
