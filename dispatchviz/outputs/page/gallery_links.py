"""The links of a page to the other pages of its gallery."""

from __future__ import annotations

from html import escape
from typing import NamedTuple


class GalleryLinks(NamedTuple):
    """The addresses, relative to the page."""

    contents: str
    """The address of the index page."""
    next_title: str = ""
    """The title of the next lesson; empty if none follows."""
    next_page: str = ""


ALL_PAGES = "all pages"


def link_to_contents(links: GalleryLinks) -> str:
    """Return the link to the list, for the header of a page."""
    return f'<a id="contents" href="{escape(links.contents)}">{ALL_PAGES}</a>'


def links_at_end(links: GalleryLinks) -> list[tuple[str, ...]]:
    """Return the links at the end of a lesson as spans: a text, a role, and the address of a link."""
    following = [(" The next lesson: ", "good"), (links.next_title, "", links.next_page)] if links.next_page else []
    return [*following, (" ", ""), (ALL_PAGES, "", links.contents)]
