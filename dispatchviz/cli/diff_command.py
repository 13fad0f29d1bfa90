"""``dispatchviz diff A B``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dispatchviz.cli import completion, options
from dispatchviz.cli.typed_command import remember

if TYPE_CHECKING:
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine


class Diff(click.Command):
    """The command ``diff``. Its options may follow the scripts; the scripts' arguments come after ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass everything after ``--`` to the scripts as arguments."""
        end = args.index("--") if "--" in args else len(args)
        remember(ctx, args[:end], args[end:])
        rest = super().parse_args(ctx, args[:end])
        ctx.params["args"] = tuple(args[end + 1 :])
        return rest


@click.command("diff", cls=Diff)
@click.option(
    "--classics",
    is_flag=True,
    help="Run one SCRIPT plain, then with its function under no_grad, inference_mode, autocast and vmap; compare each "
    "with the plain run.",
)
@click.option("--function", metavar="NAME", help="With --classics: run this function, if the script defines several.")
@click.option(
    "--what-if",
    "what_if",
    metavar="CHANGE",
    multiple=True,
    help="Run one SCRIPT as it is, then with a line changed: 'line 6: no_grad'. The file does not change. May be "
    "given several times.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show all lines that differ, not only the first ones. For snapshots, also show what only one of the builds "
    "can have.",
)
@click.option(
    "--op",
    "operator",
    metavar="OP",
    shell_complete=completion.operators,
    help="Compare only this operator of two snapshots, in full: add, aten::add.Tensor.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the difference of two snapshots as JSON.")
@click.option("--plain", is_flag=True, help="Print text instead of opening the two runs side by side.")
@options.engine
@options.cuda
@click.argument("sources", metavar="A B", nargs=-1, required=True, shell_complete=completion.programs)
def command(
    classics: bool,
    function: str | None,
    what_if: tuple[str, ...],
    every: bool,
    operator: str | None,
    as_json: bool,
    plain: bool,
    engine: RequestedEngine | None,
    cuda: str,
    sources: tuple[str, ...],
    args: tuple[str, ...],
) -> int:
    """Compare two runs, or two snapshots of PyTorch: show where they differ first, why, and what differs after that.

    A and B are two scripts or traces, or two snapshots of PyTorch (dispatchviz snapshot). Arguments after -- go to each
    script. The scripts' output goes to stderr. In a terminal the two runs open side by side. Without a terminal, or
    with --plain, text is printed.

    diff compares calls, key sets, kernels, Nodes and the engine's steps, and then the numbers of all results by their
    hashes. If one of the scripts needs the installed PyTorch, both run there. It ignores the numbers of tensors, Nodes
    and lines, the programs' own texts, their output, and how a tensor is formatted. A recording of an installed PyTorch
    and a run on the model are compared as check does it: by everything that both record, without numbers.

    \b
    Changes that --what-if makes to a line, each time that the line runs:
      no_grad, enable_grad, inference_mode    run it under this guard
      autocast [DEVICE] [DTYPE]               run it under autocast
      requires_grad TENSOR [off]              begin it with TENSOR.requires_grad_(True)
      device DEVICE TENSOR..., dtype DTYPE TENSOR...
                                              replace TENSOR by TENSOR.to(DEVICE)
      fallthrough KEY OP                      while it runs, let KEY fall through for OP
      register KEY OP                         while it runs, put a Python function that calls the kernel in KEY's place
      skip                                    leave out the statement, the decorator, or the guard of a with

    \b
    Exit status:
      0  both ran the same way, with the same numbers; both snapshots are the same
      1  they differ; a script that raises is compared up to its error
      2  bad input: a file is missing, or is neither a trace nor a program

    \b
    Examples:
      dispatchviz diff examples/mlp.py examples/no_grad.py   two scripts, which are run
      dispatchviz diff forum.dvtrace examples/broadcast.py   a saved trace and a script
      dispatchviz diff --classics examples/classics.py       one script, in four ways
      dispatchviz diff --what-if '6: no_grad' examples/forum.py   one script, unchanged and with line 6 changed
      dispatchviz diff pytorch-2.9.json pytorch-2.13.json    two snapshots
      dispatchviz diff pytorch-2.9.json pytorch-2.13.json --op ldexp   one operator of both
    """
    from dispatchviz.cli import diff_snapshots
    from dispatchviz.foundation.errors import DispatchvizError

    if diff_snapshots.are_snapshots(sources):
        if classics or what_if or function is not None or args:
            raise DispatchvizError(f"{sources[0]} is a snapshot: two snapshots take only --all, --op and --json")
        return diff_snapshots.compared(sources, operator, every, as_json)
    if operator is not None or as_json:
        option = "--json" if operator is None else "--op"
        raise DispatchvizError(f"{option} goes with two snapshots: dispatchviz snapshot -o FILE.json writes one")
    from dispatchviz.cli.diff_runs import compared, four_ways, what_if_run

    if what_if:
        if len(sources) != 1 or classics:
            other = "leave out --classics" if classics else f"{len(sources)} were given"
            raise DispatchvizError(f"--what-if runs one SCRIPT, unchanged and changed; {other}")
        return what_if_run(sources[0], what_if, args, engine, cuda, every, plain)
    if classics:
        if len(sources) != 1:
            raise DispatchvizError(f"--classics runs one SCRIPT, in four ways; {len(sources)} were given")
        return four_ways(sources[0], function, args, engine, cuda, every, plain)
    if function is not None:
        raise DispatchvizError(
            "--function is for --classics, which is not given: it names the function to run in four ways"
        )
    if len(sources) != 2:
        raise DispatchvizError(f"diff compares two scripts or traces, A and B; {_given(len(sources))}")
    return compared((sources[0], sources[1]), args, engine, cuda, every, plain)


def _given(many: int) -> str:
    return "1 was given (--classics compares four ways of one script)" if many == 1 else f"{many} were given"
