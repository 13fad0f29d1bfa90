"""Results of the expressions about ``torch._C`` on an installed PyTorch.

``answers`` are those to ``truth/questions/torch_c.py`` in their order, ``schemas`` the results of parsing its schemas,
``guards``, ``dropped`` and ``setters`` the answers to ``guards.py``, ``signatures`` the first lines of docstrings by
name, and ``members`` those of methods of classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions import torch_c as questions
from truth.questions.guards import GUARDS, SETTERS, Watched


def signatures(holder: Any) -> dict[str, str]:
    """The signature of everything that has one, by name."""
    lines = {name: str(getattr(holder, name).__doc__).partition("\n")[0] for name in dir(holder)}
    return {name: line for name, line in lines.items() if line.startswith(f"{name}(")}


def contents() -> dict[str, Any]:
    """The stored data."""
    answered, watched = questions.TorchC(torch), Watched(torch._C)
    return {
        "torch": torch.__version__.partition("+")[0],
        "answers": [[text, answered.answer(text)] for text in questions.all_expressions()],
        "schemas": [[text, answered.schema(text)] for text in questions.expressions(questions.SCHEMAS)],
        "guards": [[text, watched.guard(text)] for text in GUARDS],
        "dropped": [[text, watched.dropped(text)] for text in GUARDS],
        "setters": [[*setting, watched.setter(*setting)] for setting in SETTERS],
        "meta": watched.meta(),
        "signatures": {name: line for name, line in signatures(torch._C).items() if "dispatch" in name.lower()},
        "members": {name: signatures(getattr(torch._C, name)) for name in questions.CLASSES},
    }


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "torch_c_answers.json", json_text(contents())
