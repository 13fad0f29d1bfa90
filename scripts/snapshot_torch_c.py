"""Writes what an installed PyTorch answers about its ``torch._C`` to ``tests/data/torch_c_answers.json.gz``.

    python scripts/snapshot_torch_c.py

Needs torch and nothing else. ``answers`` are those of ``torch_c_questions`` in their order, ``schemas`` what becomes of
its schemas, ``guards``, ``dropped`` and ``setters`` those of ``guard_questions``, ``signatures`` the first lines of
docstrings by name, ``members`` the same of classes' methods.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import torch
import torch_c_questions as questions
from guard_questions import GUARDS, SETTERS, Watched

DATA = Path(__file__).parent.parent / "tests/data/torch_c_answers.json.gz"


def signatures(holder: Any) -> dict[str, str]:
    """Name -> signature of everything that has one."""
    lines = {name: str(getattr(holder, name).__doc__).partition("\n")[0] for name in dir(holder)}
    return {name: line for name, line in lines.items() if line.startswith(f"{name}(")}


def contents() -> dict[str, Any]:
    """What is stored."""
    asked, watched = questions.Asked(torch), Watched(torch._C)
    return {
        "torch": torch.__version__.partition("+")[0],
        "answers": [[text, asked.answer(text)] for text in questions.all_expressions()],
        "schemas": [[text, asked.schema(text)] for text in questions.expressions(questions.SCHEMAS)],
        "guards": [[text, watched.guard(text)] for text in GUARDS],
        "dropped": [[text, watched.dropped(text)] for text in GUARDS],
        "setters": [[*words, watched.setter(*words)] for words in SETTERS],
        "meta": watched.meta(),
        "signatures": {name: line for name, line in signatures(torch._C).items() if "dispatch" in name.lower()},
        "members": {name: signatures(getattr(torch._C, name)) for name in questions.CLASSES},
    }


def main() -> None:
    """Writes the file."""
    DATA.write_bytes(gzip.compress(json.dumps(contents(), separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
