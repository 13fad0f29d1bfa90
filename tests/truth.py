"""What real PyTorch did with the programs, and how a record of the model is compared with it.

The records are stored in ``tests/data`` by ``scripts/record_torch.py``; its docstring has their form. Everything is
compared exactly, numbers of tensors within float32 rounding.
"""

from __future__ import annotations

import difflib
import functools
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scripts.readable import node_text, step_text

STORED = Path(__file__).parent / "data" / "torch_programs.json.gz"
STORED_LESSONS = STORED.with_name("lessons.json.gz")
LESSONS = Path(__file__).parents[1] / "examples" / "lessons"


@functools.cache
def stored() -> dict[str, Any]:
    """The file."""
    return _read(STORED)


def lessons() -> dict[str, Any]:
    """What ``scripts/record_lessons.py`` wrote."""
    return _read(STORED_LESSONS)


def _read(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)  # type: ignore[no-any-return]


def log_texts(log: list[list[Any]]) -> list[str]:
    """A dispatch log as lines."""
    return [step_text(step) for step in log]


def graph_texts(graphs: list[dict[str, Any]]) -> list[str]:
    """Graphs as lines; saved tensors by shape and dtype, ``scripts.close`` compares their numbers."""
    lines = []
    for graph in graphs:
        lines.append(f"roots {graph['roots']} order {graph['order']}")
        lines += [f"{i}: {node_text(node)}" for i, node in enumerate(graph["nodes"])]
    return lines


def fact_texts(facts: list[list[Any]]) -> list[str]:
    """Autograd states as lines."""
    return [f"after line {line}: {name} {state}" for line, changed in facts for name, state in changed.items()]


def difference(name: str, torch: Iterable[str], model: Iterable[str]) -> str:
    """Empty if both are the same lines, else a text that shows where they part."""
    ours, theirs = list(model), list(torch)
    if ours == theirs:
        return ""
    lines = difflib.unified_diff(theirs, ours, "PyTorch", "model", lineterm="", n=4)
    return f"{name}:\n{stored()['programs'].get(name, {}).get('source', '')}\n" + "\n".join(lines)


def met_in_order(torch: list[str], model: list[str]) -> int:
    """How many of PyTorch's steps the model has too, in PyTorch's order."""
    if torch == model:
        return len(torch)
    blocks = difflib.SequenceMatcher(None, torch, model, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)
