"""Options that several commands have, and what they take beside options."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from dispatchviz.cli import completion

cuda = click.option(
    "--cuda",
    metavar="auto|cupy|emulated",
    type=click.Choice(["auto", "cupy", "emulated"]),
    default="auto",
    help="What cuda is: a GPU through CuPy, or NumPy behind the same keys. auto: the GPU if there is one.",
)
save = click.option(
    "--save",
    metavar="FILE",
    shell_complete=completion.traces,
    help="Also save the trace: .dvtrace, .jsonl, or .jsonl.gz to compress it. It is written while the program runs. "
    "Only a trace is overwritten.",
)
step = click.option("--step", metavar="N", type=int, help="Begin at step N.")
plain = click.option("--plain", is_flag=True, help="Print the text log instead of opening the stepper.")
only = click.option(
    "--only",
    metavar="WHAT",
    multiple=True,
    help="Keep only what this selects, with what is around it: op=NAME, line=[FILE:]N or N-M, module=NAME (a file or a "
    "class), step=N or N-M, with commas between.",
)
limit = click.option(
    "--limit",
    metavar="EVENTS|SIZE",
    help="Record at most so many events (1000000), or until the trace file has that size (500MB, 2GiB); the program "
    "runs on.",
)
no_trace = click.option(
    "--no-trace", is_flag=True, help="Run SCRIPT on the model and record nothing, to compare what it prints."
)


hashes = click.option(
    "--hashes",
    is_flag=True,
    help="Also record a hash of the numbers of each kernel's result: dispatchviz diff then tells where numbers part.",
)


class Program(click.Command):
    """A command that ends in ``SCRIPT [ARGS...]``: options of ours come before the script, all after it is its own."""

    allow_interspersed_args = False

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Of what is the script's own nothing is known but that it may name files."""
        own = bool(ctx.params.get("source"))
        return [CompletionItem(incomplete, "file")] if own else super().shell_complete(ctx, incomplete)


source = click.argument("source", metavar="SCRIPT-or-TRACE", shell_complete=completion.programs)
trace = click.argument("trace", shell_complete=completion.traces)
args = click.argument("args", nargs=-1, type=click.UNPROCESSED, shell_complete=completion.files)
