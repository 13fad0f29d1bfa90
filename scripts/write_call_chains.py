"""A script that writes ``docs/lists/call_chains.md``: the dispatches of the programs in ``examples/chains``.

    python -m scripts.write_call_chains

No PyTorch is needed. A line has the output of ``dispatchviz trace --format torch``, then the key set and the kernel.
Assignments and prints are left out. A test compares the page with the text of this module.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from dispatchviz.core.record.events import Dispatched, KernelSelected, ProgramRaised, SourceLine
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

_ROOT = Path(__file__).parent.parent
PROGRAMS = _ROOT / "examples" / "chains"
PAGE = _ROOT / "docs" / "lists" / "call_chains.md"

ORDER = {
    "add": "Add",
    "add_cuda": "Add on a GPU",
    "tracing": "Tracing",
    "in_place": "In place",
    "views": "Views, and the conjugate bit",
    "factories": "Factories, and a cast",
    "out": "An output that is given",
    "composites": "Composites and autocast",
    "vmap": "Vmap",
    "grad": "Gradient as a transform",
    "backward": "Backward",
    "modes": "Modes and subclasses",
    "custom_operator": "An operator of one's own",
}
"""The programs in reading order, with their headings."""

HEAD = """\
# Call chains

This page lists the calls that each statement dispatches in PyTorch 2.14. A line is the output of a debug build of
PyTorch with `TORCH_SHOW_DISPATCH_TRACE=1`, which `dispatchviz trace --format torch` prints too. After it come the key
set, which selects the dispatch table entry, and the kernel in that entry. `call` computes the key set from the
arguments and the thread-local state. `redispatch` gets its key set from the kernel above. `dispatchviz run
examples/chains/add.py` steps through the first program, with the reasons.

CUDA is emulated on a machine without a GPU, with the same lines. This page is written by
`python -m scripts.write_call_chains`.
"""


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(f"\n{section(name)}" for name in ORDER)


def section(name: str) -> str:
    """Return the section of one program. Raise RuntimeError if it fails."""
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    module = ast.parse(source)
    program = source.split('"""\n', 1)[1].strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = run(str(PROGRAMS / f"{name}.py")).trace
    if isinstance(trace[-1], ProgramRaised):
        raise RuntimeError(f"{name}.py: {trace[-1].message}")
    return (
        f"## {ORDER[name]}\n\n{ast.get_docstring(module)}\n\n"
        f"```python\n{program}\n```\n\n```\n{chr(10).join(log(trace))}\n```\n"
    )


def log(trace: Trace) -> Iterator[str]:
    """Yield statements, each with its dispatches."""
    shown = ""
    steps = [step for step in _steps(trace) if not is_setup(step[0])]
    width = max(len(line) for _, line, _ in steps)
    for place, line, what in steps:
        if place != shown:
            yield from ([""] if shown else []) + [place]
            shown = place
        yield f"{line:<{width}}  {what}"


def _steps(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """Yield the statement, PyTorch's line, and the key set and kernel of each dispatch."""
    calls = [event for event in trace if isinstance(event, Dispatched)]
    for event, line in zip(calls, torch_log(trace), strict=True):
        kernel = next((e.kernel for e in trace.children(event.seq) if isinstance(e, KernelSelected)), "")
        yield statement(trace, event), line, f"{event.key_set:#x} {kernel}"


def statement(trace: Trace, event: Dispatched) -> str:
    """Return the line of the program that a dispatch belongs to, without its comment, with ``# 2`` if the same line
    occurs above.
    """
    outermost = [event, *(e for e in trace.ancestors(event.seq) if isinstance(e, Dispatched))][-1]
    before = reversed(trace[: outermost.seq])  # not its ancestors, because a line inside a guard is not one
    at = next(e for e in before if isinstance(e, SourceLine))
    lines = [line.partition("  #")[0].strip() for line in trace.header.sources[at.file].split("\n")]
    text = lines[at.line - 1]
    above = lines[: at.line - 1].count(text)
    return f"{text}  # {above + 1}" if above else text


def is_setup(line: str) -> bool:
    """Return whether a line only binds a name, or prints."""
    return line.startswith("print(") or isinstance(ast.parse(line).body[0], ast.Assign)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
