"""``dispatchviz diff A B``."""

from __future__ import annotations

import click

from dispatchviz.cli import completion, options


class Diff(click.Command):
    """The command ``diff``. Its options may follow the scripts; the scripts' arguments come after ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass everything after ``--`` to the scripts as arguments."""
        end = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:end])
        ctx.params["args"] = tuple(args[end + 1 :])
        return rest


@click.command("diff", cls=Diff)
@click.option(
    "--classics",
    is_flag=True,
    help="Of one SCRIPT that defines a function: run it plain, then with that function under no_grad, inference_mode, "
    "autocast and vmap, and compare each with the plain run.",
)
@click.option("--function", metavar="NAME", help="With --classics: which function, if the script defines several.")
@click.option(
    "--what-if",
    "what_if",
    metavar="CHANGE",
    multiple=True,
    help="Of one SCRIPT: run it as it is, then with a line changed: 'line 6: no_grad'. The file stays as it is. May be "
    "given several times.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show all lines that differ, not only the first ones; of snapshots also what only one of two builds can have.",
)
@click.option(
    "--op",
    "operator",
    metavar="OP",
    shell_complete=completion.operators,
    help="Of two snapshots only this operator, whole: add, aten::add.Tensor.",
)
@click.option("--json", "as_json", is_flag=True, help="Of two snapshots: print JSON.")
@click.option("--plain", is_flag=True, help="Print text instead of opening the two runs side by side.")
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
    cuda: str,
    sources: tuple[str, ...],
    args: tuple[str, ...],
) -> int:
    """Compare two runs: where they part first and why, and what differs after that.

    Two snapshots of PyTorch are compared, too: what one registers and the other does not (dispatchviz snapshot).

    A and B are scripts or traces. What comes after -- is given to each script. What they print goes to stderr. In a
    terminal the two runs open side by side; without one, or with --plain, text is printed.

    Compared is what PyTorch does: calls, key sets, kernels, Nodes, the engine's steps; then the numbers of all results,
    by their hashes. Numbers that only count (of tensors, Nodes, lines) do not matter, and neither do the programs' own
    texts, what they print, and how a tensor is formatted. A recording of an installed PyTorch and a run on the model
    are compared as check compares them: by what can be seen of both, without numbers.

    \b
    What --what-if changes on a line, each time that it runs:
      no_grad, enable_grad, inference_mode    it runs under that
      autocast [DEVICE] [DTYPE]               the same
      requires_grad TENSOR [off]              it begins with TENSOR.requires_grad_(True)
      device DEVICE TENSOR..., dtype DTYPE TENSOR...
                                              it gets TENSOR.to(DEVICE) in place of TENSOR
      fallthrough KEY OP                      meanwhile KEY falls through for OP
      register KEY OP                         meanwhile a Python function is in KEY's cell, and calls its kernel
      skip                                    it is left out: a statement; of a with the guard; a decorator

    \b
    Exit status, as of diff:
      0  both ran the same way, with the same numbers; both snapshots have the same
      1  they differ; a script that raises does so in its run, and is compared
      2  bad input: a file is missing, is no trace and no program

    \b
    Examples:
      dispatchviz diff examples/mlp.py examples/no_grad.py   two scripts, which are run
      dispatchviz diff forum.dvtrace examples/broadcast.py   a saved trace and a script
      dispatchviz diff --classics examples/classics.py       one script, in four ways
      dispatchviz diff --what-if '6: no_grad' examples/forum.py   one script, as it is and with line 6 changed
      dispatchviz diff pytorch-2.9.json pytorch-2.13.json    two releases, of which there are snapshots
      dispatchviz diff pytorch-2.9.json pytorch-2.13.json --op ldexp   one operator of theirs
    """
    from dispatchviz.cli import diff_snapshots
    from dispatchviz.foundation.errors import DispatchvizError

    if diff_snapshots.are_snapshots(sources):
        if classics or what_if or function is not None or args:
            raise DispatchvizError(f"{sources[0]} is a snapshot: with two of them go --all, --op and --json")
        return diff_snapshots.compared(sources, operator, every, as_json)
    if operator is not None or as_json:
        option = "--json" if operator is None else "--op"
        raise DispatchvizError(f"{option} goes with two snapshots, which dispatchviz snapshot -o FILE.json writes")
    from dispatchviz.cli.diff_runs import compared, four_ways, what_if_run

    if what_if:
        if len(sources) != 1 or classics:
            other = "--classics" if classics else f"given are {len(sources)}"
            raise DispatchvizError(f"--what-if runs one SCRIPT, as it is and changed; {other}")
        return what_if_run(sources[0], what_if, args, cuda, every, plain)
    if classics:
        if len(sources) != 1:
            raise DispatchvizError(f"--classics runs one SCRIPT, in four ways; given are {len(sources)}")
        return four_ways(sources[0], function, args, cuda, every, plain)
    if function is not None:
        raise DispatchvizError("--function names what --classics runs in four ways: it means nothing without it")
    if len(sources) != 2:
        raise DispatchvizError(f"diff compares two scripts or traces, A and B; given {_are(len(sources))}")
    return compared((sources[0], sources[1]), args, cuda, every, plain)


def _are(many: int) -> str:
    return "is 1 (of one script, --classics compares four ways)" if many == 1 else f"are {many}"
