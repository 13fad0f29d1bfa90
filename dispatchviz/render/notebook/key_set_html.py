"""A key set in a notebook: its keys, highest first, each with what it is for."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.explain.keys.key_text import functionalities, key_names, purpose, runtime_name, shown
from dispatchviz.explain.sentences.english import hexed
from dispatchviz.render.notebook.html import text


def key_set_html(keys: DispatchKeySet) -> str:
    """A table; the first row is the key that picks the kernel."""
    raw = keys.raw_repr()
    names = set(key_names(raw))
    found = [(runtime_name(key, raw), purpose(key)) for key in functionalities(raw)]
    rows = "".join(f"<tr><td>{text(name)}</td><td>{text(told)}</td></tr>" for name, told in found if name in names)
    if not rows:
        return f"<p>{text(shown(raw))}</p>"
    return (
        f"<table><caption>{text(hexed(raw))}: the first key picks the kernel</caption>"
        f"<thead><tr><th>key</th><th>what it is for</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def key_set_markdown(keys: DispatchKeySet) -> str:
    """The names alone."""
    return shown(keys.raw_repr())
