"""The preview of the chosen row: the source of a program, the description of a trace."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dispatchviz.foundation.shipped_examples import located
from dispatchviz.tui.home.home_list import PROGRAM, QUESTION, Entry
from dispatchviz.tui.home.kept_trace import SEPARATOR
from dispatchviz.views.text import code_colors
from dispatchviz.views.text.styled_line import Line, line

HINTS = {
    "table": "add    add.out CUDA AutogradCUDA    linear --all",
    "why": "add AutogradCUDA    linear PrivateUse1    --error FILE",
    "keys": "AutogradCUDA    0x1000010002    CUDA+AutogradCUDA    nothing: all keys",
    "codegen": "add    aten::add.out    AddBackward0",
    "run": "train.py    run.dvtrace    (Tab completes)",
}
"""Examples of the argument of each command."""


def preview(entry: Entry | None) -> list[Line]:
    """The rows of an entry."""
    if entry is None:
        return []
    if entry.kind == PROGRAM:
        return source_rows(entry.target)
    if entry.kind == QUESTION:
        return [line(f"  {text.strip()}") for text in HINTS[entry.target].split("   ") if text.strip()]
    return [line((f"  {entry.target}", "path")), *(line(f"  {fact}") for fact in entry.shows.split(SEPARATOR))]


def source_rows(script: str) -> list[Line]:
    """The lines of a program with their numbers, in colors once they are loaded."""
    try:
        lines = _lines(script)
    except OSError as error:
        return [line((f"  cannot read {script}: {error.strerror}", "error"))]
    numbered = enumerate(code_colors.highlighted(lines), 1)
    return [line((f"{number:>4}  ", "dim"), *spans, indent=6) for number, spans in numbered]


@lru_cache(maxsize=4)
def _lines(script: str) -> tuple[str, ...]:
    return tuple(Path(located(script)).read_text("utf-8", "backslashreplace").splitlines())
