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
    help="Also save the trace: .jsonl, or .jsonl.gz to compress it. Only a trace is overwritten.",
)
step = click.option("--step", metavar="N", type=int, help="Begin at step N.")
plain = click.option("--plain", is_flag=True, help="Print the text log instead of opening the stepper.")


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
