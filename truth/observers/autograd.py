"""The autograd record of a program on any torch: graphs, order, states, numbers; without the dispatch log.

It is the record of ``truth/recorders/programs.py`` without ``log``: ``facts``, ``graphs``, ``sequence_numbers`` and the
end of the run. It takes two runs, each in a new thread: one of the whole program, and one statement by statement, whose
graphs are watched.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from truth.compare import close
from truth.observers.runs import Graphs, Run, autograd_facts, in_new_thread, used_sequence_numbers
from truth.readable import node_text

Record = dict[str, Any]

EXACT = ("error", "warnings", "output", "sequence_numbers")

ONCE = "UserWarning: Using backward() with create_graph=True will create a reference cycle"
"""A warning that is given once per process, by any program that comes first, so it is removed from records."""


def autograd_record(
    torch: ModuleType, source: str, watching: Callable[[Graphs], AbstractContextManager[None]]
) -> Record:
    """The record as JSON. ``watching`` observes every backward while it is open."""
    run, stepped = Run(torch, source), Run(torch, source)

    def at_once() -> int:
        run.whole()
        return used_sequence_numbers(torch)

    numbers = in_new_thread(at_once)
    graphs = Graphs(stepped)
    with watching(graphs):
        facts = in_new_thread(lambda: autograd_facts(stepped))
    found = {"facts": facts, "graphs": graphs.noted, "sequence_numbers": numbers, **run.end}
    found["warnings"] = [text for text in found["warnings"] if not text.startswith(ONCE)]
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def differing(torch: Record, model: Record) -> str:
    """The first part in which two records differ, with both values; empty if there is none.

    Numbers may differ by 1e-9 of their size, or by the rounding of float32 where it occurs.
    """
    rounding = 1e-5 if "torch.float32" in json.dumps(torch) else 1e-9
    for part in EXACT:
        if torch[part] != model[part]:
            return f"{part}\nPyTorch {torch[part]}\nmodel   {model[part]}"
    for theirs, ours in zip(_lines(torch), _lines(model), strict=False):
        if theirs != ours:
            return f"graphs and states\nPyTorch {theirs}\nmodel   {ours}"
    for part in ("facts", "graphs", "values", "grads"):
        if not close(torch[part], model[part], rounding):
            return f"{part}\nPyTorch {torch[part]}\nmodel   {model[part]}"
    return ""


def _lines(record: Record) -> list[str]:
    """Graphs and states as lines, saved tensors by shape and dtype."""
    lines = [f"after line {line}: {changed}" for line, changed in record["facts"]]
    for graph in record["graphs"]:
        lines.append(f"roots {graph['roots']} order {graph['order']}")
        lines += [f"{index}: {node_text(node)}" for index, node in enumerate(graph["nodes"])]
    return lines
