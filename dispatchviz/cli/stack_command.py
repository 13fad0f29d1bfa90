"""``dispatchviz stack OP SCRIPT [ARGS...]`` and ``dispatchviz stack --read FILE``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dispatchviz.cli import completion, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatchviz.cli.real_stack.child_python import ChildPython
    from dispatchviz.cli.real_stack.stopped_call import Stack, StoppedCall, Wanted
    from dispatchviz.explain.calls.backtraces.pasted_backtraces import Backtrace
    from dispatchviz.explain.calls.call_stack import Frame
    from dispatchviz.outputs.step.step_text import ShownFrames
    from dispatchviz.running.program_source import Script

NEVER = 1
"""The exit status if the program ended well without the call."""


class StackCommand(click.Command):
    """The command ``stack``. ``OP`` comes before the program, options before or after ``OP``; ``--read`` takes
    neither.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read ``operator`` and ``source``; ``-c`` and ``-m`` may follow the operator."""
        ours, operator, program = _at_operator(self, args)
        if operator is None:
            return super().parse_args(ctx, args)
        inner, script, rest = options.split_at_program(self, program)
        if script is None:
            inner, file, rest = _at_operator(self, program)
            named = [operator] if file is None else [operator, file, *rest]
            if file is not None:
                _remark(ctx, [*ours, operator, *inner], file, rest)
            return super().parse_args(ctx, [*ours, *inner, "--", *named])
        from dispatchviz.running.program_source import name_of

        _remark(ctx, [*ours, operator, *inner], script, rest)
        super().parse_args(ctx, [*ours, *inner, "--", operator, name_of(script), *rest])
        ctx.params["source"] = script
        return []


def _remark(context: click.Context, before: list[str], program: Script, arguments: list[str]) -> None:
    """Print a remark if options of ours are among the arguments of a program that reads none."""
    if arguments and not context.resilient_parsing:
        from dispatchviz.cli.options_after_script import remark_on_own_options

        remark_on_own_options(context, before, program, arguments)


def _at_operator(command: click.Command, args: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Split arguments at the first one that is no option: those before it, itself, those after it."""
    takes = {
        name for param in command.params if isinstance(param, click.Option) and not param.is_flag for name in param.opts
    }
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "-":
        at += 2 if args[at] in takes else 1
    return (args[:at], args[at], args[at + 1 :]) if at < len(args) else (args, None, [])


@click.command("stack", cls=StackCommand)
@click.option(
    "--call", metavar="N", type=click.IntRange(1), default=1, help="Stop in the Nth call of OP. Default: the first."
)
@click.option(
    "--key",
    metavar="KEY",
    shell_complete=completion.keys,
    help="Stop where the kernel for this key begins, such as AutogradCPU. Default: at the innermost function of OP.",
)
@click.option(
    "--fold", is_flag=True, help="Show frames that are the same in every call as one row, as trace --stack --fold does."
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show a row for each frame, also of the interpreter and of other libraries. JSON always has all frames.",
)
@click.option(
    "--python",
    metavar="FILE",
    shell_complete=completion.files,
    help="Run SCRIPT with this Python, of an environment with PyTorch. Default: the one that runs dispatchviz.",
)
@click.option(
    "--read",
    "pasted",
    metavar="FILE",
    shell_complete=completion.files,
    help="Read a backtrace of gdb or lldb instead of running a program; - reads standard input.",
)
@click.option(
    "--release", metavar="RELEASE", help="With --read: read its key sets by the layout of this PyTorch, such as 2.6."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the program's output then goes to stderr.")
@click.option("--no-pager", "pager", flag_value=False, default=True, help="Print without a pager.")
@options.code
@options.module
@click.argument("operator", metavar="OP", required=False, shell_complete=completion.operators)
@click.argument("source", metavar="SCRIPT", required=False, shell_complete=completion.programs)
@options.args
def command(
    call: int,
    key: str | None,
    fold: bool,
    every: bool,
    python: str | None,
    pasted: str | None,
    release: str | None,
    as_json: bool,
    pager: bool,
    operator: str | None,
    source: Script | None,
    args: tuple[str, ...],
) -> int:
    """Show the real C++ stack of one call: run SCRIPT on an installed PyTorch in gdb, and stop in a call of OP.

    You do not have to build PyTorch: gdb (Linux) reads the release build. Each frame has its role, PyTorch's file and
    its library. A DispatchKeySet among its arguments is taken apart if its place is certain. The program runs to its
    own end, with its own output; then the frames are printed, outermost first. Ctrl+C ends the program early.

    With --read, a backtrace that was made elsewhere is read the same way, of any release.

    \b
    Examples:
      dispatchviz stack add examples/chains/add.py
      dispatchviz stack torch.add --key AutogradCPU --fold examples/chains/add.py
      dispatchviz stack mul --call 2 -c "import torch; x = torch.ones(2); print(x * 3 * 4)"
      dispatchviz stack --read backtrace.txt --release 2.6
    """
    from dispatchviz.cli.input_source import alone

    if every:
        alone("--all", fold=fold)
    shown: ShownFrames = "all" if every else "folded" if fold else "fewer"
    if pasted is not None:
        _check_read(key, python, operator)
        return _read(pasted, release, shown, as_json, pager)
    alone("OP and SCRIPT", release=release)
    if operator is None or source is None:
        raise click.UsageError("name an operator and a program, such as: dispatchviz stack add SCRIPT")
    if isinstance(source, str) and operator.endswith(".py"):
        raise click.UsageError(
            f"{operator} is a program, and the operator comes first: dispatchviz stack {source} {operator}"
        )
    return _run(operator, source, args, call, key, python, shown, as_json, pager)


def _check_read(key: str | None, python: str | None, operator: str | None) -> None:
    """Raise UsageError for options that have no effect when no program runs."""
    from dispatchviz.cli.input_source import alone

    alone("--read", key=key, python=python)
    if operator is not None:
        raise click.UsageError(f"--read FILE runs no program: leave out {operator} or --read")


# -- a pasted backtrace -----------------------------------------------------------------------------------------------


def _read(file: str, release: str | None, shown: ShownFrames, as_json: bool, pager: bool) -> int:
    from dispatchviz.explain.calls.backtraces.native_frames import native_frames, numbered
    from dispatchviz.explain.calls.backtraces.pasted_backtraces import read_backtraces

    found = read_backtraces(_text(file))
    stacks = [native_frames(each.frames, release) for each in found]
    if as_json:
        from dispatchviz.cli.lookup import print_json

        print_json([{"thread": each.heading, "frames": frames} for each, frames in zip(found, stacks, strict=True)])
        return 0
    for each, frames in zip(found, stacks, strict=True):
        _print(list(numbered(frames)), _heading(each, len(found)), shown, pager)
    return 0


def _text(file: str) -> str:
    from dispatchviz.cli.input_source import STANDARD_INPUT, standard_input
    from dispatchviz.foundation.errors import DispatchvizError

    if file == STANDARD_INPUT:
        return standard_input().decode("utf-8", "replace")
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise DispatchvizError(f"cannot read {file}: {error.strerror}") from None


def _heading(backtrace: Backtrace, count: int) -> str:
    return backtrace.heading or ("" if count == 1 else "a backtrace")


def _print(frames: Sequence[Frame], heading: str, shown: ShownFrames, pager: bool) -> None:
    from dispatchviz.outputs.step.step_text import print_backtrace

    print_backtrace(frames, heading, shown, pager)


# -- a program --------------------------------------------------------------------------------------------------------


def _run(
    operator: str,
    source: Script,
    args: tuple[str, ...],
    call: int,
    key: str | None,
    python: str | None,
    shown: ShownFrames,
    as_json: bool,
    pager: bool,
) -> int:
    from dispatchviz.cli.real_stack.child_python import check_debugger, child_python
    from dispatchviz.cli.real_stack.stopped_call import Wanted, stopped_call
    from dispatchviz.cli.real_stack.stops import operator_and_kernels, stops_of

    gdb = check_debugger()
    name, kernels = operator_and_kernels(operator, key)
    program = _program(source)
    found = child_python(python or sys.executable)
    wanted = Wanted(name, call, kernels)
    sys.stdout.flush()
    came = stopped_call(gdb, found, [*program, *args], wanted, stops_of(name, found.folder), as_json)
    if as_json:
        _print_json(came, wanted, found)
    else:
        _print_stacks(came, wanted, found, shown, pager)
    return _conclude(came, wanted, source)


def _program(source: Script) -> tuple[str, ...]:
    """Return the program as words of Python's command line. Raise DispatchvizError if there is no such script."""
    from dispatchviz.foundation.shipped_examples import located
    from dispatchviz.running.program_source import STANDARD_INPUT, read_source, typed

    if not isinstance(source, str) or source == STANDARD_INPUT:
        return typed(source)
    read_source(source)
    return (located(source),)


def _print_stacks(came: StoppedCall, wanted: Wanted, python: ChildPython, shown: ShownFrames, pager: bool) -> None:
    if came.stack is not None:
        heading = f"call {wanted.call} of {wanted.operator}, PyTorch {python.version}"
        _print(came.stack.frames, heading, shown, pager)
    if came.crash is not None:
        _print(came.crash.frames, f"{came.crash.signal}: the program crashed here", shown, pager)


def _print_json(came: StoppedCall, wanted: Wanted, python: ChildPython) -> None:
    from dispatchviz.cli.lookup import print_json

    def frames(stack: Stack | None) -> Any:
        return None if stack is None else stack.frames

    print_json(
        {
            "operator": wanted.operator,
            "call": wanted.call,
            "torch": python.version,
            "frames": frames(came.stack),
            "crash": came.crash and {"signal": came.crash.signal, "frames": came.crash.frames},
            "status": came.status,
        }
    )


def _conclude(came: StoppedCall, wanted: Wanted, source: Script) -> int:
    """Return the program's exit status, or ``NEVER`` if the call did not happen. Raise EndedBySignal if the program
    did.
    """
    from dispatchviz.foundation.errors import EndedBySignal
    from dispatchviz.foundation.terminal_output import complain

    if came.stack is None and came.crash is None:
        complain(_why_none(came, wanted, source))
    if came.signal and came.crash is None:
        raise EndedBySignal(came.signal)
    if came.signal:
        return 128 + came.signal
    return came.status or (NEVER if came.stack is None else 0)


def _why_none(came: StoppedCall, wanted: Wanted, source: Script) -> str:
    from dispatchviz.running.program_source import name_of

    name = name_of(source)
    if not came.loaded:
        return f"{name} ended without loading PyTorch, so there was no call of {wanted.operator}"
    if not came.calls:
        return f"{name} ended without a call of {wanted.operator}{_hint(wanted.operator)}"
    if came.calls < wanted.call:
        times = {1: "once", 2: "twice"}.get(came.calls, f"{came.calls} times")
        return f"{name} called {wanted.operator} {times}, so there is no call {wanted.call}"
    return (
        f"call {wanted.call} of {wanted.operator} never reached {' or '.join(wanted.kernels)}; it reached "
        f"{', '.join(came.came_to)}"
    )


def _hint(operator: str) -> str:
    """Return the remark for an operator that PyTorch does not have."""
    if operator.startswith("aten::"):
        return ""
    return ": for an operator that is not PyTorch's, gdb finds kernels in Python, but not those of a C++ extension"
