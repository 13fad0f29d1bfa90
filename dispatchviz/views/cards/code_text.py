"""Code as text: Python, yaml, C++; in colours where there are some."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.views.text.console import Console

CODE_STYLES = {
    "code.comment": ("dim",),
    "code.string": ("green",),
    "code.number": ("yellow",),
    "code.keyword": ("cyan", "bold"),
    "code.name": ("bold",),
}
"""Role of a span of code to its styles."""


def code(text: str, language: str, console: Console, indent: int = 4) -> Iterator[str]:
    """Lines of code, in colours where there are some; they are never wrapped."""
    lines = text.splitlines()
    if not console.colours:
        yield from (f"{'':{indent}}{line}".rstrip() for line in lines)
        return
    from dispatchviz.views.text.code_tokens import highlighted

    for spans in highlighted(tuple(lines), language):
        yield f"{'':{indent}}" + "".join(console.styled(part, *CODE_STYLES.get(role, ())) for part, role in spans)
