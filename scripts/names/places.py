"""The places where a name is searched for: the output of commands, and the views of the steps of programs, as text."""

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
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from dispatchviz.cli import main
from dispatchviz.explain.kinds.all_kinds import rule
from dispatchviz.outputs.step.step_text import LOG, WHY, view_names, view_text
from dispatchviz.trace import Trace
from dispatchviz.views.details.then_and_now_rows import HEADINGS, ON_LINE
from scripts.names.name_list import Name

ROOT = Path(__file__).parents[2]

PROGRAMS = (
    "examples/forum.py",
    "examples/chains/add.py",
    "examples/chains/factories.py",
    "examples/chains/in_place.py",
    "examples/hooks.py",
    "examples/collective_overlap.py",
    "examples/anomaly.py",
    "examples/saved_tensors.py",
    "examples/vmap.py",
    "examples/chains/vmap.py",
    "examples/custom_operator.py",
    "examples/inplace_error.py",
)
"""The programs. The founding program comes first, so a name is shown there if possible."""

COMMANDS = (
    "dispatchviz codegen add",
    "dispatchviz codegen add --structured",
    "dispatchviz codegen add --file VariableType_2.cpp",
    "dispatchviz codegen add --file UfuncCPUKernel_add.cpp",
    "dispatchviz codegen add --file python_torch_functions_2.cpp",
    "dispatchviz codegen add --file Operators_2.cpp",
    "dispatchviz codegen randn --file RegisterBackendSelect.cpp",
    "dispatchviz codegen randn",
    "dispatchviz codegen normal_",
    "dispatchviz codegen empty.memory_format",
    "dispatchviz codegen add.Scalar",
    "dispatchviz table add --history",
    "dispatchviz table add",
    "dispatchviz keys Autograd",
    "dispatchviz keys 274877939713",
    "dispatchviz keys 32769",
    "dispatchviz why add AutogradCUDA",
    "dispatchviz why randn BackendSelect",
)
"""The commands whose output needs no program."""

EVENT = "event"
"""The view of a step whose function or file has the name. The view ``why`` has it in these rows."""

FIRST = {
    "The walkthrough, code generation and structured kernels": (EVENT, "codegen", "structured"),
    "Node's header: torch/csrc/autograd/node.h, and function.h for its functions": (EVENT, "node", "engine", "why"),
}
"""The places that belong to the names of each section."""

ORDER = (
    *(EVENT, "stack", "why", "registration", "cell", "key-set", "structured", "node", "engine", "table", "codegen"),
    *("keys", "calls"),
)
"""The preferred places for the names of all sections."""

TELLING = ("because", "then-and-now")
"""The views that only describe PyTorch. Their first rows are about the step itself."""

LAST = (*TELLING, "source")
"""The views that come last. The program's own text shows nothing of PyTorch."""


class Place(NamedTuple):
    """The command and keys that show a name."""

    command: str
    view: str
    """The name of the view or command, such as ``codegen``, or ``EVENT``."""
    kind: str = ""
    """The kind of the step's event."""


def places() -> Iterator[tuple[Place, str]]:
    """Yield all places, each with the text that is searched."""
    for command in COMMANDS:
        yield Place(command, command.split()[1]), text_of(command)
    for program in PROGRAMS:
        trace = _trace(program)
        for step in _steps(trace):
            yield from _views(trace, step, program)


def _views(trace: Trace, step: int, program: str) -> Iterator[tuple[Place, str]]:
    kind, said = type(trace[step]).__name__, rule(trace[step])
    for view in view_names():
        if view != LOG:
            command = f"dispatchviz run --step {step} --view {view} {program}"
            text = view_text(trace, step, view)
            if view in TELLING:
                yield Place(command, view, kind), _of_this_step(text)
                yield Place(command, f"all of {view}", kind), text
            else:
                yield Place(command, view, kind), text
            if view == WHY:
                yield Place(command, EVENT, kind), f"{said.function} {said.file.rpartition('/')[2]}"


def _of_this_step(text: str) -> str:
    """Return the part of a descriptive view that is about the step itself, which comes first."""
    here, *elsewhere = HEADINGS.values()
    first, *rest = text.splitlines()
    return "\n".join(takewhile(lambda row: row not in (*elsewhere, ON_LINE), rest)) if first == here else ""


def found(names: Sequence[Name]) -> dict[Name, Place]:
    """Return the best place of each name that is shown somewhere, in the order of the names."""
    best: dict[Name, tuple[int, Place]] = {}
    for place, text in places():
        for name in names:
            rank = preference(name, place)
            if (name not in best or rank < best[name][0]) and has(text, name.text):
                best[name] = (rank, place)
    return {name: best[name][1] for name in names if name in best}


def preference(name: Name, place: Place) -> int:
    """Return the rank of a place; smaller is better. First the wanted kind, then the places of its section, the
    preferred places, others.

    A step comes before a command; a Node's card is best while the Node runs: by then all of it is there.
    """
    order = [*FIRST.get(name.section, ()), *ORDER, "", *LAST, *(f"all of {view}" for view in TELLING)]
    at = order.index(place.view if place.view in order else "")
    wanted = bool(name.wanted) and name.wanted in (place.view, place.kind)
    second_best = not place.kind or (place.view == "node" and place.kind != "NodeStarted")
    return 2 * (at - len(order) * wanted) + second_best


def text_of(command: str) -> str:
    """Return the output of a command, 100 columns wide."""
    match shlex.split(command)[1:]:
        case ["run", "--step", step, "--view", view, program]:
            return view_text(_trace(program), int(step), view)
        case words:
            return _printed(tuple(words))


def has(text: str, name: str) -> bool:
    """Return whether a text contains a name as a separate word, not as a part of a longer name or of a file's name."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w|\.(?:h|cpp|py)\b)", text) is not None


def _steps(trace: Trace) -> Iterator[int]:
    """Yield the first step of each kind, the first of each with another operator or Node, and for each kind of call."""
    seen: set[tuple[str, str, str]] = set()
    for step in range(len(trace)):
        event = trace[step]
        named = str(getattr(event, "operator", "") or getattr(event, "name", ""))
        about = (type(event).__name__, named, str(getattr(event, "how", "")))
        if about not in seen:
            seen.add(about)
            yield step


@cache
def _trace(program: str) -> Trace:
    """Return a trace that is recorded in a separate process, as a reader's is, because the first use of vmap registers
    kernels.
    """
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
