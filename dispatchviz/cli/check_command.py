"""``dispatchviz check SCRIPT [ARGS...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dispatchviz.cli import completion, options

if TYPE_CHECKING:
    from dispatchviz.running.program_source import Script


@click.command("check", cls=options.OfProgram)
@click.option("--all", "every", is_flag=True, help="Show all lines that differ, not only the first ones.")
@click.option("--plain", is_flag=True, help="Print text instead of opening the two runs side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: same, and of each line that differs what and where.")
@options.cuda
@click.option(
    "--save",
    metavar="FILE",
    shell_complete=completion.traces,
    help="Also save the model's trace at the end: "
    ".dvtrace, .jsonl, or .jsonl.gz to compress it. Only a trace is overwritten.",
)
@options.code
@options.module
@options.script
@options.args
def command(
    every: bool, plain: bool, as_json: bool, cuda: str, save: str | None, source: Script, args: tuple[str, ...]
) -> int:
    """Run SCRIPT on the model and on the installed PyTorch, and compare what each did.

    Compared is what can be seen of both: each call with its key sets, the cell and the kernel, where that is
    registered and what it returns; guards; Nodes with their edges and what they saved; the engine's order; hooks;
    what .grad gets; errors; what is printed, up to the last digits of numbers. Not seen in an installed PyTorch:
    Python's bindings, meta and impl of structured kernels, the engine's counts and queues, version counters.

    Random numbers that the program does not seed are the same in both runs. PyTorch runs on one thread, as the model
    does, unless OMP_NUM_THREADS is set.

    What the program prints on PyTorch goes to stderr. --save keeps the model's trace, whose header then says with which
    PyTorch it was compared: it is written when both runs are over, or when a signal ends the one on the model. In a
    terminal runs that differ open side by side; without one, or with --plain, text is printed.

    \b
    Exit status, as of diff:
      0  PyTorch did what the model does
      1  they differ
      2  bad input, no PyTorch here that can be recorded, a program for cuda and a PyTorch without, or one that calls
         what the model does not have

    \b
    Examples:
      dispatchviz check examples/mlp.py
      dispatchviz check --save mlp.dvtrace examples/mlp.py   the header of mlp.dvtrace says what was found
      dispatchviz check -c 'import torch; torch.ones(2).sum()'
    """
    from dispatchviz.cli.check_runs import checked
    from dispatchviz.outputs.trace_files import check_save

    if save:
        check_save(save)
    return checked(source, args, cuda, save, every, plain, as_json)
