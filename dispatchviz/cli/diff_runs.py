"""``diff`` of two runs: two scripts or traces, or one script run in several ways."""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dispatchviz.cli import diff_screen
from dispatchviz.cli.classics import WAYS, chosen_function, with_decorator
from dispatchviz.cli.compared_engine import Machine, machine_for
from dispatchviz.cli.input_source import STANDARD_INPUT, check_no_arguments, standard_input, trace_in
from dispatchviz.cli.run_apart import run_apart
from dispatchviz.cli.script_run import run_script
from dispatchviz.explain.comparison.checked import compared_as_seen
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changes import Change, device_of, for_device, read_change
from dispatchviz.explain.keys.key_layouts import minor
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.shipped_examples import alternatives, located
from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
from dispatchviz.running.program_source import read_source
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison.two_runs import TwoRuns
from dispatchviz.tui.terminal.support import can_run
from dispatchviz.views.cards.diff_text import diff_lines
from dispatchviz.views.text.console import terminal

DIFFERENT = 1
"""The exit status if two runs differ."""


def compared(
    sources: tuple[str, str], args: tuple[str, ...], engine: RequestedEngine | None, cuda: str, every: bool, plain: bool
) -> int:
    """Show where two runs differ first; return the exit status."""
    if sources == (STANDARD_INPUT, STANDARD_INPUT):
        raise DispatchvizError("only one of A and B can be standard input: both are -")
    opened = [trace_in(source) for source in sources]  # a bad trace is reported before anything runs
    for source in sources:
        if source != STANDARD_INPUT and not os.path.exists(located(source)):
            raise DispatchvizError(
                f"there is no file {source}: diff compares two scripts or traces{alternatives(source)}"
            )
    if args and None not in opened:
        check_no_arguments(sources[0], args)
    scripts = [source for source, known in zip(sources, opened, strict=True) if known is None]
    machine = machine_for(engine, cuda, scripts)
    first, second = (
        _run(source, args, machine) if known is None else known for source, known in zip(sources, opened, strict=True)
    )
    of_both = first.header.engine != second.header.engine
    found = compared_as_seen(first, second) if of_both else compare(first, second)
    phrases = _where_phrases(*sources)
    if _opens_screen(plain):
        runs = Run(found.first, phrases[0]), Run(found.second, phrases[1])
        sides = [
            diff_screen.side(source, run, known is not None, machine, args)
            for source, known, run in zip(sources, opened, runs, strict=True)
        ]
        if of_both:
            sides = [diff_screen.opening(side, whole) for side, whole in zip(sides, (first, second), strict=True)]
        words = () if STANDARD_INPUT in sources else (*sources, *(("--", *args) if args else ()))
        diff_screen.show([diff_screen.two(found, sides, words, machine)])
    else:
        console = terminal()
        if of_both:
            same = " PyTorch did what the model does." if found.same else ""
            console.print(console.wrapped(_of_two_engines(first, second) + same, 0))
        console.print(diff_lines(found, phrases, console, every, numbers=not of_both))
        console.print(_commands(found, sources, opened, machine, args))
    return 0 if found.same else DIFFERENT


def _of_two_engines(first: Trace, second: Trace) -> str:
    """Return the sentence that says how a recording of PyTorch and a run on the model are compared."""
    ours, theirs = sorted((first, second), key=lambda trace: trace.header.engine != "model")
    begin = "One run is on the model" if minor(ours.header.pytorch) == minor(theirs.header.pytorch) else (
        f"Two releases are compared: one run is on the model of PyTorch {minor(ours.header.pytorch)}"
    )  # fmt: skip
    release = theirs.header.pytorch
    return f"{begin}, and one is recorded on PyTorch {release}. Only what both record is compared, without numbers."


def _run(source: str, args: tuple[str, ...], machine: Machine, text: str = "", changes: Sequence[Change] = ()) -> Trace:
    """Run a script, or another text in its place, with changes, and return its trace with hashes of the results."""
    if machine.choice.engine == "torch":
        return run_apart(source, args, machine.cuda, text, [change.text for change in changes])
    outcome = run_script(
        source,
        args,
        machine.cuda,
        None,
        to_stderr=True,
        hashes=True,
        rewritten=lambda own: text or own,
        changed=lambda tree: changed_program(tree, changes),
        engine=machine.choice,
    )
    if isinstance(outcome.error, KeyboardInterrupt):
        raise outcome.error
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return outcome.trace


def _commands(
    found: Comparison, sources: tuple[str, str], opened: Sequence[Trace | None], machine: Machine, args: Sequence[str]
) -> Iterator[str]:
    """Yield the commands that open the stepper where the runs differ first."""
    part = found.part
    if part is None:
        return
    yield ""
    runs = Run(found.first, ""), Run(found.second, "")
    steps = [None if at is None else run.number(at) for run, at in zip(runs, (part.first, part.second), strict=True)]
    for source, known, step in zip(sources, opened, steps, strict=True):
        if step is None or source == STANDARD_INPUT:
            continue
        words = ["run", "--hashes", *machine.typed] if known is None else ["open"]
        given = args if known is None else ()
        yield f"To step from there: dispatchviz {shlex.join([*words, '--step', str(step), source, *given])}"


def _where_phrases(first: str, second: str) -> tuple[str, str]:
    """Return a phrase for each run: its file name, its path if the file names are equal, or first and second."""
    if first == second:
        return "in the first run", "in the second run"
    names = [os.path.basename(name) for name in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    return f"in {_called(names[0])}", f"in {_called(names[1])}"


def _called(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else name


def four_ways(
    source: str,
    function: str | None,
    args: tuple[str, ...],
    engine: RequestedEngine | None,
    cuda: str,
    every: bool,
    as_text: bool,
) -> int:
    """Compare the plain run of a script with a run for each way of ``--classics``; return the exit status."""
    _check_script(source, "--classics runs a SCRIPT in four ways")
    text = _text(source)
    chosen = chosen_function(source, text, function)
    machine = machine_for(engine, cuda, [source])
    plain = _run(source, args, machine, text)
    device = device_of(plain)
    on_screen, console, status, choices = _opens_screen(as_text), terminal(), 0, list[TwoRuns]()
    named = () if function is None else ("--function", function)
    for number, (name, decorator) in enumerate(WAYS):
        line = decorator.format(device=device)
        other = _run(source, args, machine, with_decorator(text, chosen, line))
        found = replace(compare(plain, other), edit=None)  # the heading above shows the one line that changed
        status = status if found.same else DIFFERENT
        runs = Run(plain, "in the plain run"), Run(other, f"under {name}")
        if on_screen:
            sides = [
                diff_screen.side(source, runs[0], False, machine, args),
                diff_screen.changed(runs[1], f"@{line} above def {chosen}"),
            ]
            words = ("--classics", *named, source, *(("--", *args) if args else ()))
            choices.append(diff_screen.two(found, sides, words, machine, name))
            continue
        console.print([*[""] * bool(number), console.heading(f"{name}: @{line} above def {chosen}"), ""])
        console.print(diff_lines(found, (runs[0].where, runs[1].where), console, every))
    if on_screen:
        diff_screen.show(choices)
    return status


def what_if_run(
    source: str,
    typed: Sequence[str],
    args: tuple[str, ...],
    engine: RequestedEngine | None,
    cuda: str,
    every: bool,
    as_text: bool,
) -> int:
    """Compare a script with itself after the changes of ``--what-if``; return the exit status."""
    changes = [read_change(text) for text in typed]
    _check_script(source, "--what-if runs a SCRIPT twice, unchanged and changed")
    if source == STANDARD_INPUT or not os.path.exists(located(source)):
        text = "- can be read only once" if source == STANDARD_INPUT else f"there is no file {source}"
        raise DispatchvizError(f"{text}: --what-if runs a SCRIPT twice, unchanged and changed")
    if (program := _parsed(source)) is not None:  # an impossible change is reported before anything runs
        changed_program(program, changes)
    machine = machine_for(engine, cuda, [source])
    plain = _run(source, args, machine)
    changes = [for_device(change, device_of(plain)) for change in changes]
    other = _run(source, args, machine, changes=changes)
    found = compare(plain, other)
    runs = Run(plain, "in the plain run"), Run(other, "in the changed run")
    changes_text = "; ".join(change.text for change in changes)
    if _opens_screen(as_text):
        sides = [diff_screen.side(source, runs[0], False, machine, args), diff_screen.changed(runs[1], changes_text)]
        options_typed = [word for change in changes for word in ("--what-if", change.text)]
        words = (*options_typed, source, *(("--", *args) if args else ()))
        diff_screen.show([diff_screen.two(found, sides, words, machine)])
    else:
        console = terminal()
        console.print([console.heading(f"What if {changes_text}"), ""])
        console.print(diff_lines(found, (runs[0].where, runs[1].where), console, every))
    return 0 if found.same else DIFFERENT


def _text(source: str) -> str:
    """Return a script's text. Raise DispatchvizError if it cannot be read."""
    return read_source(source, standard_input() if source == STANDARD_INPUT else b"").text or ""


def _parsed(source: str) -> ast.Module | None:
    """Return a script's syntax tree; None if it does not parse. Running it then reports the error."""
    try:
        return ast.parse(_text(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _check_script(source: str, what: str) -> None:
    """Raise DispatchvizError if a source is not a program."""
    if trace_in(source) is not None:
        raise DispatchvizError(f"{what}, but {source} is a saved trace")


def _opens_screen(as_text: bool) -> bool:
    """Return whether comparisons open on a screen instead of being printed."""
    return not as_text and can_run() is None
