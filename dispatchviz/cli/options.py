"""Options that several commands share, and the commands' own ways to read arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from dispatchviz.cli import completion
from dispatchviz.cli.typed_command import remember
from dispatchviz.running.engine_choice.requested_engine import ENGINES
from dispatchviz.running.program_source import Code, Module, name_of

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

engine = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="Run the program on our model of PyTorch, or on the unmodified PyTorch that is installed here (2.6 or later). "
    "auto: the model if it has all names that the program uses, else the installed PyTorch. Default: the environment "
    "variable DISPATCHVIZ_ENGINE, else engine in [tool.dispatchviz] of pyproject.toml, else auto.",
)
cuda = click.option(
    "--cuda",
    metavar="auto|cupy|emulated|none",
    type=click.Choice(["auto", "cupy", "emulated", "none"]),
    default="auto",
    help="Choose the device behind cuda. cupy: a GPU through CuPy. emulated: NumPy behind the same keys. none: no CUDA "
    "device. auto: the GPU if there is one, else emulated; none if CUDA_VISIBLE_DEVICES names no device.",
)
save = click.option(
    "--save",
    metavar="FILE",
    shell_complete=completion.traces,
    help="Also save the trace: .dvtrace, .jsonl, or .jsonl.gz to compress it. It is written while the program runs. "
    "Only a trace is overwritten.",
)
step = click.option("--step", metavar="N", type=click.IntRange(min=0), help="Begin at step N.")
plain = click.option(
    "--plain",
    is_flag=True,
    help="Print text instead of opening the stepper: the log, or with --step all views of that step.",
)
view = click.option(
    "--view",
    metavar="NAME",
    shell_complete=completion.views,
    help="Print one view of a step and exit: why, key-set, cell, calls, source, graph, and others. stack: every "
    "function of PyTorch that is running. things: the questions about its tensors and Nodes. registration: how the "
    "dispatch table of its operator was filled. log: the log from this step on.",
)

as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: the view that --view names, else all views of the step, as lines with roles and as values.",
)

KEYMAPS = ("default", "vim", "gdb")
"""The keymaps of ``tui/terminal/keymaps.py``, which the command line does not load for its help."""


def _use_keymap(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None and not context.resilient_parsing:
        from dispatchviz.tui.terminal.keymaps import use_named

        use_named(value)


keymap = click.option(
    "--keymap",
    metavar="|".join(KEYMAPS),
    type=click.Choice(KEYMAPS),
    envvar="DISPATCHVIZ_KEYMAP",
    expose_value=False,
    callback=_use_keymap,
    help="Use these keys in the stepper. Default: the environment variable DISPATCHVIZ_KEYMAP.",
)

LEVELS = ("lines", "calls", "keys", "all")
"""The levels of ``explain/outline/levels.py``, which the command line does not load for its help."""

_filters = (
    click.option(
        "--level",
        metavar="|".join(LEVELS),
        type=click.Choice(LEVELS),
        help="Choose how much the log shows. lines: lines of the program. calls: also calls, redispatches and Nodes. "
        "keys: also key sets and dispatch table entries. all: everything, with the reasons.",
    ),
    click.option("--line", metavar="[FILE:]N", help="Show only the part of the log on line N, or on lines N-M."),
    click.option(
        "--op",
        "operator",
        metavar="OP",
        shell_complete=completion.operators,
        help="Show only the calls of an operator in the log: add, torch.add, aten::add.Tensor.",
    ),
    click.option(
        "--no-backward",
        "backward",
        flag_value=False,
        default=None,
        help="Leave backward passes out of the log.",
    ),
    click.option(
        "--no-pager",
        "pager",
        flag_value=False,
        default=True,
        help="Print text that is longer than the screen without a pager.",
    ),
)


def log_filters(command: Decorated) -> Decorated:
    """Add the options that select a part of the log. A ``LogCommand`` gets those that are given as its parameter
    ``log``.
    """
    for option in reversed(_filters):
        command = option(command)
    return command


class LogCommand(click.Command):
    """A command that may print the log. ``log`` has the fields of a ``LogFilter`` that are given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Collect the filter's options in ``log``."""
        rest = super().parse_args(ctx, args)
        fields = {name: ctx.params.pop(name, None) for name in ("level", "line", "operator", "backward")}
        ctx.params["log"] = {name: value for name, value in fields.items() if value is not None}
        return rest


def _recording(context: click.Context, option: click.Parameter, value: object) -> None:
    """Put the value of an option into ``recording``. A command gets all options of its recording as that parameter."""
    context.params.setdefault("recording", {})[option.name] = value


only = click.option(
    "--only",
    metavar="WHAT",
    multiple=True,
    expose_value=False,
    callback=_recording,
    help="Record only the steps that match, with the steps around them: op=NAME, line=[FILE:]N or N-M, module=NAME (a "
    "module's path such as layers.0, a class or a file), call=N or N-M (the calls of the program, or those of op=), "
    "iteration=[LINE:]N or N-M (of the loops inside no other loop, or of the loop on a line), step=N or N-M. Separate "
    "several with commas. With --engine torch the rest of the program runs at full speed, except for step=.",
)
limit = click.option(
    "--limit",
    metavar="EVENTS|SIZE|none",
    expose_value=False,
    callback=_recording,
    help="Stop recording after this many events (1000000), or when the trace file has this size (500MB, 2GiB); the "
    "program runs on. Default: 4GB, or half of the disk's free space. none: no limit.",
)
strict = click.option(
    "--strict",
    is_flag=True,
    help="End with status 3 if the program ended with 0 but its recording is incomplete: the disk was full, a limit "
    "was reached, or dispatchviz failed.",
)
unbuffered = click.option(
    "--unbuffered",
    is_flag=True,
    expose_value=False,
    callback=_recording,
    help="Write every step to the trace file before the program goes on. This is slower, but after a crash in C++ the "
    "file has the last step.",
)
ranks = click.option(
    "--ranks",
    is_flag=True,
    help="Also record every process that the program starts: ranks of torchrun or torch.multiprocessing.spawn, workers "
    "of a DataLoader, Python scripts. Each gets a file beside the trace: train.rank1.dvtrace. Runs on the installed "
    "PyTorch.",
)
no_trace = click.option(
    "--no-trace", is_flag=True, help="Run the program on the model and record nothing, to compare its output."
)


hashes = click.option(
    "--hashes",
    is_flag=True,
    expose_value=False,
    callback=_recording,
    help="Also record a hash of each kernel's result: dispatchviz diff then shows where numbers begin to differ.",
)


values = click.option(
    "--values/--no-values",
    default=None,
    expose_value=False,
    callback=_recording,
    help="Record the numbers of small tensors (at most 16 elements) without a limit, or never. Default: 1,000 "
    "times. The tensors pane shows them at each step. On the model, the recording waits for numbers on a GPU, and says "
    "so. A recording of PyTorch has none of a GPU's.",
)


def _second(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Raise UsageError for ``-c`` or ``-m`` after a script. Elsewhere they are read before click reads anything."""
    if value is not None and not context.resilient_parsing:
        raise click.UsageError(f"{option.opts[0]} takes the place of SCRIPT: leave SCRIPT out", context)


code = click.option(
    "-c",
    "code",
    metavar="CODE",
    expose_value=False,
    callback=_second,
    help="Run CODE instead of SCRIPT, as python -c does. Everything after it belongs to the program.",
)
module = click.option(
    "-m",
    "module",
    metavar="MODULE",
    expose_value=False,
    callback=_second,
    shell_complete=completion.modules,
    help="Run MODULE instead of SCRIPT, as python -m does. Everything after it belongs to the program.",
)


class OfProgram(click.Command):
    """A command that ends in ``SCRIPT [ARGS...]``, ``-c CODE [ARGS...]`` or ``-m MODULE [ARGS...]``. Our options come
    before the program; everything after it belongs to the program.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the program as ``source``: a file's name, or the value of ``-c`` or ``-m``."""
        words = list(args)
        ours, program, rest = split_at_program(self, args)
        if program is not None:
            super().parse_args(ctx, [*ours, "--", name_of(program), *rest])
            ctx.params["source"], left = program, []
        else:
            left = super().parse_args(ctx, args)
            rest = [*ctx.params["args"]]
            ours = words[: len(words) - len(rest) - 1]
        remember(ctx, ours, words[len(ours) :])
        if rest and not ctx.resilient_parsing:
            from dispatchviz.cli.options_after_script import remark_on_own_options

            remark_on_own_options(ctx, ours, ctx.params["source"], rest)
        return left

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete our options; after the script offer files, since nothing is known about its own arguments."""
        own = bool(ctx.params.get("source"))
        return [CompletionItem(incomplete, "file")] if own else super().shell_complete(ctx, incomplete)


class Program(OfProgram, LogCommand):
    """A program's command that also prints a log."""


def split_at_program(command: click.Command, args: list[str]) -> tuple[list[str], Code | Module | None, list[str]]:
    """Split a command line at ``-c CODE`` or ``-m MODULE``: our options, that program, its arguments.

    Return all words as the first part if there is neither, or if a script comes first.
    """
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
        kind = PROGRAMS.get(args[at][:2])
        if kind is not None and (len(args[at]) > 2 or at + 1 < len(args)):
            taken = 1 if len(args[at]) > 2 else 2
            return args[:at], kind(args[at][2:] or args[at + 1]), args[at + taken :]
        at += 2 if args[at] in _with_values(command) else 1
    return args, None, []


PROGRAMS: dict[str, type[Code] | type[Module]] = {"-c": Code, "-m": Module}


def _with_values(command: click.Command) -> set[str]:
    """Return the options that take a value."""
    options = (param for param in command.params if isinstance(param, click.Option) and not param.is_flag)
    return {name for option in options for name in option.opts}


source = click.argument("source", metavar="SCRIPT-or-TRACE", shell_complete=completion.programs)
script = click.argument("source", metavar="SCRIPT", shell_complete=completion.programs)
trace = click.argument("trace", shell_complete=completion.traces)
traces = click.argument("traces", metavar="TRACE...", nargs=-1, required=True, shell_complete=completion.traces)
args = click.argument("args", nargs=-1, type=click.UNPROCESSED, shell_complete=completion.files)
