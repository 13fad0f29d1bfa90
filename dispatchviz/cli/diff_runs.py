"""What ``diff`` compares: two scripts or traces, or one script run in several ways."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dispatchviz.cli.classics import WAYS, chosen_function, with_decorator
from dispatchviz.cli.input_source import STANDARD_INPUT, check_no_arguments, trace_in
from dispatchviz.cli.script_run import run_script
from dispatchviz.core.record import events as ev
from dispatchviz.errors import DispatchvizError, EndedBySignal
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.render.cards.diff_text import diff_lines
from dispatchviz.render.console import terminal
from dispatchviz.trace import Trace

DIFFERENT = 1
"""The exit status if two runs differ, as of ``diff``."""


def compared(sources: tuple[str, str], args: tuple[str, ...], cuda: str, every: bool) -> int:
    """Prints where two runs part; gives the exit status."""
    if sources == (STANDARD_INPUT, STANDARD_INPUT):
        raise DispatchvizError("standard input can be one of the two only: - and - are the same")
    opened = [trace_in(source) for source in sources]  # what is wrong with a trace is said before anything runs
    for source in sources:
        if source != STANDARD_INPUT and not os.path.exists(source):
            raise DispatchvizError(f"there is no file {source}: diff compares two scripts or traces")
    if args and None not in opened:
        check_no_arguments(sources[0], args)
    first, second = (
        _run(source, args, cuda) if known is None else known for source, known in zip(sources, opened, strict=True)
    )
    found, console = compare(first, second), terminal()
    console.print(diff_lines(found, _wheres(*sources), console, every))
    console.print(_commands(found, sources, opened, cuda, args))
    return 0 if found.same else DIFFERENT


def _run(source: str, args: tuple[str, ...], cuda: str, rewritten: Callable[[str], str] = str) -> Trace:
    """The trace of a script, with hashes of results."""
    outcome = run_script(source, args, cuda, None, to_stderr=True, hashes=True, rewritten=rewritten)
    if isinstance(outcome.error, KeyboardInterrupt):
        raise outcome.error
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return outcome.trace


def _commands(
    found: Comparison, sources: tuple[str, str], opened: Sequence[Trace | None], cuda: str, args: Sequence[str]
) -> Iterator[str]:
    """What opens the stepper where the runs part."""
    part = found.part
    if part is None:
        return
    yield ""
    for source, known, step in zip(sources, opened, (part.first, part.second), strict=True):
        if step is None or source == STANDARD_INPUT:
            continue
        device = [] if cuda == "auto" else ["--cuda", cuda]
        words = ["run", "--hashes", *device] if known is None else ["open"]
        given = args if known is None else ()
        yield f"To step from there: dispatchviz {shlex.join([*words, '--step', str(step), source, *given])}"


def _wheres(first: str, second: str) -> tuple[str, str]:
    """What two runs are called: by their files, as far as these tell them apart."""
    if first == second:
        return "in the first run", "in the second run"
    names = [os.path.basename(name) for name in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    return f"in {_called(names[0])}", f"in {_called(names[1])}"


def _called(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else name


def four_ways(source: str, function: str | None, args: tuple[str, ...], cuda: str, every: bool) -> int:
    """Prints what changes if a function of a script runs otherwise than plain."""
    if trace_in(source) is not None:
        raise DispatchvizError(f"--classics runs a SCRIPT in four ways, and {source} is a saved trace")
    chosen = ""

    def plainly(text: str) -> str:
        nonlocal chosen
        chosen = chosen_function(source, text, function)
        return text

    plain, console, status = _run(source, args, cuda, plainly), terminal(), 0
    device = "cuda" if _uses_cuda(plain) else "cpu"
    for number, (name, decorator) in enumerate(WAYS):
        line = decorator.format(device=device)
        other = _run(source, args, cuda, lambda text, line=line: with_decorator(text, chosen, line))  # type: ignore[misc]
        console.print([*[""] * bool(number), console.heading(f"{name}: @{line} above def {chosen}"), ""])
        found = replace(compare(plain, other), edit=None)  # the one line that was changed stands above
        console.print(diff_lines(found, ("in the plain run", f"under {name}"), console, every))
        status = status if found.same else DIFFERENT
    return status


def _uses_cuda(trace: Trace) -> bool:
    made = (trace[step] for step in trace.steps_of(ev.TensorCreated))
    return any(isinstance(event, ev.TensorCreated) and event.device.startswith("cuda") for event in made)
