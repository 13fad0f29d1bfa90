"""Where a name is looked for: what commands print, and the views of the steps of programs, as text."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dispatchviz.cli import main
from dispatchviz.plain_views import LOG, view_names, view_text
from dispatchviz.trace import Trace
from scripts.names.name_list import Name

ROOT = Path(__file__).parents[2]

PROGRAMS = (
    "examples/forum.py",
    "examples/collective_overlap.py",
    "examples/hooks.py",
    "examples/anomaly.py",
    "examples/chains/add.py",
    "examples/vmap.py",
    "examples/custom_operator.py",
    "examples/saved_tensors.py",
    "examples/in_place_on_leaf.py",
)
"""The founding program first: a name is shown there if it can be."""

COMMANDS = (
    "dispatchviz codegen add",
    "dispatchviz codegen add --structured",
    "dispatchviz table add --history",
    "dispatchviz table add",
    "dispatchviz table randn",
    "dispatchviz table empty.memory_format",
    "dispatchviz codegen add --file VariableType_2.cpp",
    "dispatchviz codegen add --file UfuncCPUKernel_add.cpp",
    "dispatchviz codegen randn",
    "dispatchviz codegen normal_",
    "dispatchviz keys",
    "dispatchviz why add AutogradCUDA",
    "dispatchviz why randn BackendSelect",
)
"""What is printed without a program."""

FIRST = {
    "The walkthrough, code generation and structured kernels": ("codegen", "structured"),
    "Node's header: torch/csrc/autograd/node.h, and function.h for its functions": ("node", "why", "engine"),
}
"""Of the names of a section, the views that they belong to."""

VIEWS = ("why", "stack", "key-set", "cell", "structured", "node", "engine", "registration", "table", "codegen", "calls")
"""Those of the first choice for the names of all sections."""

LAST = ("source", "because", "then-and-now")
"""The program's own text shows nothing of PyTorch, the other two only tell."""


class Place(NamedTuple):
    """What a reader types to see a name."""

    command: str
    view: str
    """The view's name, or that of the command: ``codegen``."""


def places() -> Iterator[tuple[Place, str]]:
    """All of them, each with its text."""
    for command in COMMANDS:
        yield Place(command, command.split()[1]), text_of(command)
    for program in PROGRAMS:
        trace = _trace(program)
        for step in _steps(trace):
            for view in view_names():
                if view != LOG:
                    command = f"dispatchviz run --step {step} --view {view} {program}"
                    yield Place(command, view), view_text(trace, step, view)


def found(names: Sequence[Name]) -> dict[Name, Place]:
    """The best place of each name that is to be seen somewhere, in the order of the names."""
    best: dict[Name, tuple[int, Place]] = {}
    for place, text in places():
        for name in names:
            rank = preference(name, place)
            if (name not in best or rank < best[name][0]) and has(text, name.text):
                best[name] = (rank, place)
    return {name: best[name][1] for name in names if name in best}


def preference(name: Name, place: Place) -> int:
    """The smaller, the better: the views that its section is about, those of the first choice, others."""
    order = [*FIRST.get(name.section, ()), *VIEWS]
    return order.index(place.view) if place.view in order else len(order) + (place.view in LAST)


def text_of(command: str) -> str:
    """What a command prints, 100 columns wide."""
    match shlex.split(command)[1:]:
        case ["run", "--step", step, "--view", view, program]:
            return view_text(_trace(program), int(step), view)
        case words:
            return _printed(tuple(words))


def has(text: str, name: str) -> bool:
    """Whether the name is in a text as a word of its own."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _steps(trace: Trace) -> Iterator[int]:
    """The first step of each kind, and the first of each with another operator or Node."""
    seen: set[tuple[str, str]] = set()
    for step in range(len(trace)):
        event = trace[step]
        about = (type(event).__name__, str(getattr(event, "op", "") or getattr(event, "name", "")))
        if about not in seen:
            seen.add(about)
            yield step


@cache
def _trace(program: str) -> Trace:
    """Recorded in a process of its own, as a reader's is: the first use of vmap registers kernels."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "trace.jsonl"
        command = [sys.executable, "-m", "dispatchviz", "trace", "-o", os.devnull, "--save", str(saved), program]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        trace = Trace.load(saved)
        return Trace(trace.header, [*trace])


@cache
def _printed(words: tuple[str, ...]) -> str:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            main(words)
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return out.getvalue()
