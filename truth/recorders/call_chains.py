"""Every dispatch step of the programs of ``examples/chains``, run on an installed PyTorch (CPU).

Statements that need a GPU are left out. Operators that a program defines are defined before the watching begins, so
that they are watched too. In addition to ``programs.py`` it records the kernels for the Python keys, Tracer, Meta and
sparse tensors, and the kernel in each dispatch table entry that was reached.

For each program the file has ``log``, steps as in ``programs.py``, and ``cells``: by operator and key ``[file,
reason]`` as in PyTorch's dump of the table.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.observers.dispatcher import WATCHED, steps_of, watched_dispatcher
from truth.observers.runs import FILE, Run, in_new_thread

PROGRAMS = Path(__file__).parents[2] / "examples" / "chains"
KEYS = (*WATCHED, "PythonTLSSnapshot", "Python", "Tracer", "SparseCPU", "AutogradMeta", "Meta")
C: Any = torch._C


def recorded(source: str) -> dict[str, Any]:
    """The record of a program. Raise AssertionError if it fails."""
    run = Run(torch, source)
    statements = [s for s in ast.parse(source).body if '"cuda"' not in ast.get_source_segment(source, s, padded=True)]
    early = [s for s in statements if "library" in str(ast.get_source_segment(source, s))]
    _execute(run, [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)])
    _execute(run, early)
    tables: dict[str, dict[str, list[str]]] = {}
    with warnings.catch_warnings(), watched_dispatcher(KEYS, ["aten", *_defined(early, source)]):
        warnings.simplefilter("ignore")
        log = in_new_thread(lambda: steps_of(lambda: _execute(run, [s for s in statements if s not in early])))
    for step in log:
        tables.setdefault(step[2], {})[step[3]] = []
    for operator, cells in tables.items():
        table = dict(re.findall(r"^(\w+): (.*)$", C._dispatch_dump_table(operator), re.MULTILINE))
        cells.update({key: _cell(table[key]) for key in cells})
    return {"log": log, "cells": tables}


def _execute(run: Run, statements: list[ast.stmt]) -> None:
    run.execute(compile(ast.Module(statements, []), FILE, "exec"))
    assert run.error is None, run.error


def _defined(statements: list[ast.stmt], source: str) -> list[str]:
    """The namespaces that the program defines."""
    return re.findall(r'Library\("(\w+)"', "".join(str(ast.get_source_segment(source, s)) for s in statements))


def _cell(text: str) -> list[str]:
    """The file and reason of a dispatch table entry."""
    found = re.search(r"registered (?:at|in) (?:.*/)?(\S+?)(?::\d+)? \[(.*)\]", text)
    assert found, text
    return [found[1], found[2]]


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    torch.set_num_threads(1)
    programs = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PROGRAMS.glob("*.py"))}
    found = {name: recorded(source) for name, source in programs.items() if "cuda" not in name}
    whole = {"torch": torch.__version__.partition("+")[0], "programs": found}
    yield records.HERE / "call_chains.json", json_text(whole)
