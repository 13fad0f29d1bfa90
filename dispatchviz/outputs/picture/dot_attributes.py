"""Lists of attributes in DOT text, written as the package ``graphviz`` writes them. Its own function looks at each text
several times, which would be a tenth of the time of a big picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from graphviz import nohtml
from graphviz.quoting import quote


def attribute_list(attributes: Mapping[str, str], label: str | None = None) -> str:
    """Return `` [label="a b" color=red]``, sorted but for the label; empty without attributes. No value is HTML."""
    words = [] if label is None else [f"label={_quoted(label)}"]
    words += [f"{name}={_quoted(attributes[name])}" for name in sorted(attributes)]
    return f" [{' '.join(words)}]" if words else ""


def _quoted(value: str) -> str:
    is_plain = " " in value and '"' not in value and not value.endswith("\\")
    return f'"{value}"' if is_plain else _quoted_by_rule(value)


@lru_cache(maxsize=1024)
def _quoted_by_rule(value: str) -> str:
    return str(quote(nohtml(value)))
