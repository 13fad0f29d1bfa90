"""``dispatchviz trace SCRIPT [ARGS...]``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("trace", context_settings=options.PROGRAM)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "torch", "jsonl"]),
    default="text",
    help="text: with the reasons. torch: the lines of a debug PyTorch under TORCH_SHOW_DISPATCH_TRACE=1. "
    "jsonl: the trace file.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the log to FILE; the program's output stays on stdout.")
@options.cuda
@options.save
@options.script
@options.args
def command(form: str, output: str | None, cuda: str, save: str | None, script: str, args: tuple[str, ...]) -> int:
    """Run SCRIPT on the model and print the log.

    What the program prints goes to stderr, so that the log stays whole (with -o: to stdout, as always).
    """
    import sys

    from dispatchviz.cli.running import conclude, run_script
    from dispatchviz.output import write_log

    outcome = run_script(script, args, cuda, save, None if output else sys.stderr)
    write_log(outcome.trace, form, output)
    return conclude(outcome, save or (output if form == "jsonl" else None))
