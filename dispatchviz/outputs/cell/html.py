"""HTML for the output of a cell, and a key set as such.

A notebook that is opened by somebody else is not trusted: its frames, scripts and SVG are taken out, and many a style.
So a picture is an ``img`` with its data, which every front end leaves in, and all else is text in plain elements; a
player is a frame of its own in front of them.
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
"""A dialog closes by its form."""
MONOSPACED = "font-family:monospace;white-space:pre;overflow:auto;max-height:32em"


def text(words: str) -> str:
    """Text as itself."""
    return html.escape(shown_lines(words))


def paragraph(words: str) -> str:
    """A sentence."""
    return f"<p>{text(words)}</p>"


def block(lines: Iterable[str]) -> str:
    """Lines as they are."""
    return f'<pre style="{MONOSPACED}">{text(chr(10).join(lines))}</pre>'


def folded(title: str, content: str, is_open: bool = False) -> str:
    """What is read when its title is chosen; without that in front ends that know no such element."""
    return f"<details{' open' if is_open else ''}><summary>{text(title)}</summary>{content}</details>"


def image(svg: str, told: str) -> str:
    """A picture; nothing in it can run."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{text(told)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def player_frame(page: str, height: int = 640, title: str = "dispatchviz") -> str:
    """A whole HTML page within the output: its scripts and its policy are its own, and reach nothing around it.

    Where frames are taken out nothing is left of it.
    """
    style = FRAME.format(height=height)
    what = f'title="{text(title)}" sandbox="{SANDBOX}" style="{style}"'
    return f'<iframe {what} srcdoc="{html.escape(page)}"></iframe>'


def key_set_html(keys: DispatchKeySet) -> str:
    """A table; the first row is the key that picks the kernel."""
    raw = keys.raw_repr()
    names = set(key_names(raw))
    found = [(runtime_name(key, raw), purpose(key)) for key in functionalities(raw)]
    rows = "".join(_row("td", name, told) for name, told in found if name in names)
    if not rows:
        return f"<p>{text(shown(raw))}</p>"
    return (
        f"<table><caption>{text(hexed(raw))}: the first key picks the kernel</caption>"
        f"<thead>{_row('th', 'key', 'what it is for')}</thead><tbody>{rows}</tbody></table>"
    )


LEFT = 'style="text-align:left"'
"""Front ends put the texts of a table at the right, as if they were numbers."""


def _row(element: str, *cells: str) -> str:
    return f"<tr>{''.join(f'<{element} {LEFT}>{text(cell)}</{element}>' for cell in cells)}</tr>"


def key_set_markdown(keys: DispatchKeySet) -> str:
    """The names alone."""
    return shown(keys.raw_repr())
