"""``dispatchviz export SCRIPT-or-TRACE -o FILE``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("export")
@click.option("-o", "--output", metavar="FILE", required=True, help="What to write; the suffix says what it becomes.")
@options.cuda
@click.argument("source", metavar="SCRIPT-or-TRACE")
@options.args
def command(output: str, cuda: str, source: str, args: tuple[str, ...]) -> int:
    """Write what a program or a saved trace shows into a file.

    \b
    .svg .dot .png .pdf    the backward graph
    .jsonl .jsonl.gz       the trace

    ARGS are the script's; put -- in front of those that begin with a dash.
    """
    from contextlib import nullcontext, suppress

    from dispatchviz.cli.running import conclude, run_script
    from dispatchviz.output import check_suffix, export, is_trace_file
    from dispatchviz.render.svg import RenderError
    from dispatchviz.trace import Trace

    check_suffix(output)
    if is_trace_file(source):
        export(Trace.load(source), output)
        return 0
    outcome = run_script(source, args, cuda, None)
    with suppress(RenderError) if outcome.error else nullcontext():  # why there is no picture is said below
        export(outcome.trace, output)
    return conclude(outcome, output if is_trace_file(output) else None)
