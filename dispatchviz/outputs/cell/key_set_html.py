"""A key set in a notebook: its keys, highest first, each with what it is for."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.explain.keys.key_text import functionalities, key_names, purpose, runtime_name, shown
from dispatchviz.foundation.english import hexed
from dispatchviz.outputs.cell.html import text


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
