"""Small programs with ``torch.library``, ``custom_op`` and ``torch.ops``, and a function that runs one on a given
torch.

In a program, a line ``? EXPRESSION`` records the value of the expression, or its error. Arguments of ``print`` are
recorded too, and warnings when they are given. Nothing here imports torch: the real one and the model are both passed
in.
"""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.txt"))}

FILE = "program.py"
"""The file name of the programs."""

_QUERY = re.compile(r"^( *)\? (.*)$", re.MULTILINE)
_ONLY_HERE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
    (re.compile(r"[^\s'\"(]*/site-packages/torch/"), "torch/"),
    (re.compile(r"/__w/pytorch/pytorch/"), ""),
    (re.compile(r" \(Triggered internally at [^)]*\)$"), ""),
)
"""Parts of an output that differ between machines and runs, with their replacements."""


def run(torch: ModuleType, source: str) -> list[str]:
    """The output of a program. If an error ends it, that is the last line."""
    notes: list[str] = []
    program = compile(_QUERY.sub(r"\1show(\2)", _quoted(source)), FILE, "exec", dont_inherit=True)
    names = {
        "torch": torch,
        "Tensor": torch.Tensor,
        "show": _shower(notes),
        "print": _printer(notes),
        "__name__": "program",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_: notes.append(f"{category.__name__}: {message}")  # type: ignore[assignment]
        try:
            exec(program, names)
        except Exception as error:
            notes.append(f"ended by {type(error).__name__}: {error}")
    names.clear()
    gc.collect()
    return [_everywhere(note) for note in notes]


def _quoted(source: str) -> str:
    """The source with ``? x`` replaced by ``? "x", lambda: x`` on the same line."""
    return _QUERY.sub(lambda match: f"{match[1]}? {match[2]!r}, lambda: {match[2]}", source)


def _shower(notes: list[str]) -> Callable[[str, Callable[[], Any]], None]:
    def show(text: str, query: Callable[[], Any]) -> None:
        try:
            outcome = repr(query())
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        notes.append(f"{text} -> {outcome}")

    return show


def _printer(notes: list[str]) -> Callable[..., None]:
    return lambda *values: notes.append(" ".join(map(str, values)))


def _everywhere(note: str) -> str:
    for pattern, word in _ONLY_HERE:
        note = pattern.sub(word, note)
    return note
