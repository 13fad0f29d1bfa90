"""HTML for the output of a notebook cell, and a key set in it.

A notebook that someone else opens is not trusted: front ends remove its frames, scripts, SVG and many styles. So a
picture is an ``img`` that contains its data, which each front end keeps, and everything else is text in plain elements.
A player is a frame of its own above them.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.explain.keys.key_text import functionalities, key_names, purpose, runtime_name, shown
from dispatchviz.foundation.english import hexed
from dispatchviz.foundation.shown_text import shown_lines

FRAME = "border:1px solid #8888;border-radius:4px;width:100%;height:{height}px"
SANDBOX = "allow-scripts allow-forms"
"""The permissions of the frame. A dialog is a form, which closes it."""
MONOSPACED = "font-family:monospace;white-space:pre;overflow:auto;max-height:32em"


def text(words: str) -> str:
    """Return words as HTML, with special characters escaped."""
    return html.escape(shown_lines(words))


def paragraph(words: str) -> str:
    """Return a paragraph."""
    return f"<p>{text(words)}</p>"


def block(lines: Iterable[str]) -> str:
    """Return lines as a block of preformatted text."""
    return f'<pre style="{MONOSPACED}">{text(chr(10).join(lines))}</pre>'


def folded(title: str, content: str, is_open: bool = False) -> str:
    """Return content that unfolds when its title is clicked. Front ends that do not know this element show the content
    at once.
    """
    return f"<details{' open' if is_open else ''}><summary>{text(title)}</summary>{content}</details>"


def image(svg: str, alt: str) -> str:
    """Return a picture as an ``img``, in which nothing can run. ``alt`` is its text."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{text(alt)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def player_frame(page: str, height: int = 640, title: str = "dispatchviz") -> str:
    """Return a whole HTML page as a frame in the output. Its scripts and its policy apply only within it.

    A front end that removes frames shows nothing of it.
    """
    style = FRAME.format(height=height)
    what = f'title="{text(title)}" sandbox="{SANDBOX}" style="{style}"'
    return f'<iframe {what} srcdoc="{html.escape(page)}"></iframe>'


def key_set_html(keys: DispatchKeySet) -> str:
    """Return a key set as a table. Its first row is the key that selects the kernel."""
    raw = keys.raw_repr()
    names = set(key_names(raw))
    found = [(runtime_name(key, raw), purpose(key)) for key in functionalities(raw)]
    rows = "".join(_row("td", name, words) for name, words in found if name in names)
    if not rows:
        return f"<p>{text(shown(raw))}</p>"
    return (
        f"<table><caption>{text(hexed(raw))}: the first key selects the kernel</caption>"
        f"<thead>{_row('th', 'key', 'purpose')}</thead><tbody>{rows}</tbody></table>"
    )


LEFT = 'style="text-align:left"'
"""The style of a table cell. Front ends align the texts of a table to the right, as if they were numbers."""


def _row(element: str, *cells: str) -> str:
    return f"<tr>{''.join(f'<{element} {LEFT}>{text(cell)}</{element}>' for cell in cells)}</tr>"


def key_set_markdown(keys: DispatchKeySet) -> str:
    """Return the names of a key set's keys."""
    return shown(keys.raw_repr())
