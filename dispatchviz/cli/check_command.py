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
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: whether the runs are the same, and each line that differs."
)
@options.cuda
@click.option(
    "--save",
    metavar="FILE",
    shell_complete=completion.traces,
    help="Also save the model's trace at the end, as "
    ".dvtrace, .jsonl, or .jsonl.gz to compress it. Only a trace is overwritten.",
)
@options.code
@options.module
@options.script
@options.args
def command(
    every: bool, plain: bool, as_json: bool, cuda: str, save: str | None, source: Script, args: tuple[str, ...]
) -> int:
    """Run SCRIPT on the model and on the installed PyTorch, and compare both runs.

    The comparison covers everything that both runs record: each call with its key sets, its dispatch table entry and
    kernel, where the kernel is registered and what it returns; guards; Nodes with their edges and saved values; the
    order of the engine; hooks; values of .grad; errors; printed text, up to the last digits of numbers. A recording of
    an installed PyTorch lacks Python's bindings, meta and impl of structured kernels, the engine's counts and queues,
    and version counters.

    Random numbers that the program does not seed are the same in both runs. PyTorch runs on one thread, as the model
    does, unless OMP_NUM_THREADS is set.

    The program's output on PyTorch goes to stderr. --save keeps the model's trace. Its header names the PyTorch that
    the model was compared with. It is written when both runs are over, or when a signal ends the run on the model. In a
    terminal, runs that differ open side by side. Without a terminal, or with --plain, text is printed.

    \b
    Exit status:
      0  PyTorch did what the model does
      1  they differ
      2  bad input; no PyTorch that can be recorded; the program needs cuda, which PyTorch cannot use here; or the
         program needs something that the model lacks

    \b
    Examples:
      dispatchviz check examples/mlp.py
      dispatchviz check --save mlp.dvtrace examples/mlp.py   the header of mlp.dvtrace has the result
      dispatchviz check -c 'import torch; torch.ones(2).sum()'
    """
    from dispatchviz.cli.check_runs import checked
    from dispatchviz.outputs.trace_files import check_save

    if save:
        check_save(save)
    return checked(source, args, cuda, save, every, plain, as_json)
