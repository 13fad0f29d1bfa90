"""An example of each kind of sentence, from the simplest program or command that has it."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dispatchviz.core.keys.keys import ALIASES, CELL, DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.why_cell import cell_statements
from dispatchviz.explain.keys.key_cards import key_statements
from dispatchviz.explain.kinds.all_kinds import rule, statements
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from scripts.sentences.kinds import diagnosis_kinds
from truth.programs import PROGRAMS, parse

ROOT = Path(__file__).parents[2]

OWN = parse((Path(__file__).parent / "programs.txt").read_text("utf-8"))
"""Programs for the sentences that no other program has."""

ALL_PROGRAMS = {**PROGRAMS, **OWN}

FUNCTIONALITIES = tuple(key for key in DispatchKey if key not in CELL and key not in ALIASES and "Of" not in key.name)
"""Keys that stand for one of each backend."""

OPERATORS = (
    *("add.Tensor", "sum", "randn", "linear", "mul.Tensor", "add.out", "relu", "view", "to.dtype", "_to_copy"),
    *("embedding_renorm_", "_nested_tensor_size", "batch_norm", "_foreach_add.Scalar", "mm"),
    *(
        "nonzero",
        "randn_like",
        "prims::sin",
        "_c10d_functional::all_gather_into_tensor",
        "matmul",
        "empty.memory_format",
        "native_batch_norm",
        "_efficientzerotensor",
        "detach",
        "copy_",
    ),
)
"""The operators that ``dispatchviz why`` explains for every key."""

UNSEEN = {
    "unknown step": "a trace that another version recorded",
    "operator defined, cells unknown": "a trace that another version recorded",
    "binding without signatures": "a trace that another version recorded",
    "known Node": "a Node that was created before `record()` began",
    "no differentiable input requires grad": "an operator with a non-differentiable input that requires grad",
    "cell: ambiguous": "an operator with a composite and a kernel for a backend of AutogradOther",
    "cell: why ambiguous": "an operator with a composite and a kernel for a backend of AutogradOther",
    "table: full": "an operator with a kernel in each of the 137 entries",
    "change: cell stays": "a registration that another one outranks",
    "change: composite decomposes": "a kernel for an autograd key that is removed and leaves a composite",
    "Node runs": "a recording of an installed PyTorch",
    "grad mode off at a call": "a recording of an installed PyTorch",
    "grad mode on at a call": "a recording of an installed PyTorch",
    "called from outside the part": "a recording of a part (`--only`) of a program",
    "result hashed": "a recording that is asked for hashes (`--hashes`)",
    "numbers recorded": "a recording that is asked for the numbers of small tensors (`record(values=16)`)",
    "numbers not recorded": "a recording that has the numbers of small tensors (`record(values=16)`)",
    "numbers changed unseen": "a recording of an installed PyTorch whose memory NumPy wrote to",
    "entry in another release": "a recording of another PyTorch than 2.14",
    "operator in another release": "a recording of another PyTorch than 2.14",
    "schema in another release": "a recording of another PyTorch than 2.14",
    "limit of numbers": "a recording that has the numbers of small tensors 1,000 times",
    "backward on a thread of the pool": "61 nested backward passes",
    "collective called": "a rank of a distributed program (`--ranks`)",
    "collectives differ": "ranks that call different collectives",
    "collective never called": "a rank that never calls a collective",
    "collectives of different sizes": "ranks that give different numbers of elements to a collective",
    "meta checks": "a meta function that is interrupted before it declares its output",
} | dict.fromkeys(
    (
        *("compiled for the first time", "compiled again", "backward graph compiled", "compile ends", "guard failed"),
        *("graph break", "graph of Dynamo", "joint graph", "forward graph", "backward graph captured"),
        *("inference graph", "graph from the cache", "captured backward", "region called", "Node of a region"),
        *("Node of a compiled region", "backward with compiled autograd", "compiled_args", "apply_with_saved"),
    ),
    "a recording of an installed PyTorch that uses `torch.compile`",
)
"""Kinds that no program or command below comes to, and what would."""


class Example(NamedTuple):
    """A sentence, with the program or command it is from."""

    statement: Statement
    source: str
    """``examples/forum.py``, the name of one of ``ALL_PROGRAMS``, or a command: ``dispatchviz why add.Tensor CUDA``."""
    line: int = 0
    """The line of the program; 0 if the step belongs to none."""
    rule: str = ""
    function: str = ""
    file: str = ""


def examples(wanted: frozenset[str], among: Iterable[str] | None = None) -> dict[str, Example]:
    """The first example of each wanted kind: from the founding program, then the shortest programs, then commands.

    ``among`` names the sources to search; all if it is omitted.
    """
    found: dict[str, Example] = {}
    searched = None if among is None else set(among)
    for source in sources():
        if searched is not None and source not in searched:
            continue
        for example in said_by(source):
            if example.statement.kind not in _of_diagnoses():
                found.setdefault(example.statement.kind, example)
        if wanted <= found.keys():
            break
    return found


@cache
def _of_diagnoses() -> frozenset[str]:
    return frozenset(kind.name for kind in diagnosis_kinds()) | {"error: try", "error: general cause"}


@cache
def sources() -> list[str]:
    """The sources, in the order in which they are searched."""
    shipped = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*.py"))
    first = ["examples/forum.py"]
    programs = [*first, *(name for name in shipped if name not in first), *OWN, *sorted(PROGRAMS, key=_size)]
    keys = [f"dispatchviz keys {key}" for key in (*CELL, *ALIASES, *FUNCTIONALITIES)]
    return programs + keys + [f"dispatchviz why {operator} {key}" for operator in OPERATORS for key in CELL]


def _size(name: str) -> tuple[int, str]:
    """Printing takes many steps and has no sentences of its own."""
    return len(PROGRAMS[name]) + 10_000 * ("print" in PROGRAMS[name]), name


def said_by(source: str) -> Iterator[Example]:
    """Yield all sentences of a source, step by step."""
    match source.split():
        case ["dispatchviz", "keys", key]:
            found = key_statements(DispatchKey[key], _registry(), "cuda")
        case ["dispatchviz", "why", operator, key]:
            entry = _registry().find(operator if "::" in operator else f"aten::{operator}")
            found = iter(()) if entry is None else cell_statements(entry, DispatchKey[key], _registry())
        case _:
            yield from _statements(source)
            return
    yield from (Example(statement, source) for statement in found)


@cache
def _registry() -> Registry:
    return pytorch_registry("cuda")


def _statements(program: str) -> Iterator[Example]:
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_of(program, folder)
    lines = _lines(trace)
    for event in trace:
        for statement in statements(trace, event.seq):
            text, function, file = rule(event)
            said = statement._replace(text=statement.text.replace(f"{folder}/", ""))
            yield Example(said, program, lines[event.seq], text, function, file)


def trace_of(program: str, folder: str) -> Trace:
    """Run a program as ``dispatchviz trace`` does; those that are no files are written into a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = ROOT / program
        if program in ALL_PROGRAMS:
            path = Path(folder) / f"{program}.py"
            path.write_text(ALL_PROGRAMS[program], "utf-8")
        with contextlib.redirect_stderr(io.StringIO()):
            return run(str(path), output=io.StringIO()).trace


def _lines(trace: Trace) -> list[int]:
    """The line of each step."""
    found, line = [], 0
    for event in trace:
        line = event.line if isinstance(event, ev.SourceLine) else line
        found.append(line)
    return found


def named_in(page: str) -> set[str]:
    """The sources that a written page has its examples from."""
    return set(re.findall(r"^- from: `(.*?)`", page, re.MULTILINE))
