"""``dispatchviz export SCRIPT-or-TRACE -o FILE``."""

from __future__ import annotations

import click

from dispatchviz.cli import completion, options


class Export(click.Command):
    """Its options may follow the script, whose arguments come after ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError, saying where they belong, for arguments of the script before ``--``."""
        end = args.index("--") if "--" in args else len(args)
        try:
            rest = super().parse_args(ctx, args[:end])
        except click.NoSuchOption as error:
            raise click.UsageError(f"there is no option {error.option_name}{_AFTER}", ctx) from None
        if ctx.params["args"] and not ctx.resilient_parsing:
            raise click.UsageError(f"{ctx.params['args'][0]} is one argument too many{_AFTER}", ctx)
        ctx.params["args"] = tuple(args[end + 1 :])
        return rest


_AFTER = "; arguments of the script come after --"


@click.command("export", cls=Export)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    shell_complete=completion.files,
    help="What to write; the suffix determines what it becomes. - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["svg", "dot", "png", "pdf", "jsonl", "jsonl.gz"]),
    help="What it becomes where no suffix does; of standard output svg otherwise.",
)
@options.cuda
@options.source
@options.args
def command(output: str, form: str | None, cuda: str, source: str, args: tuple[str, ...]) -> int:
    """Write what a program or a saved trace shows into a file.

    \b
    .svg .dot .png .pdf    the backward graph
    .jsonl .jsonl.gz       the trace

    - as SCRIPT-or-TRACE reads standard input, as FILE it writes standard output.
    ARGS are the script's and come after --: dispatchviz export train.py -o graph.svg -- --lr 0.1
    """
    import sys
    from contextlib import suppress

    from dispatchviz.cli.input_source import check_no_arguments, trace_in
    from dispatchviz.cli.script_run import conclude, kept, run_script
    from dispatchviz.output import STANDARD_OUTPUT, TRACES, check_export, export
    from dispatchviz.render.graph.svg import RenderError

    suffix = _suffix(output, form)
    check_export(output, suffix)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        export(trace, output, suffix)
        return 0
    outcome = run_script(source, args, cuda, None, sys.stderr if output == STANDARD_OUTPUT else None)
    with kept(outcome, None), suppress(*[RenderError] if outcome.error else []):  # why there is no picture: see below
        export(outcome.trace, output, suffix)
    return conclude(outcome, output if suffix in TRACES and output != STANDARD_OUTPUT else None)


def _suffix(output: str, form: str | None) -> str:
    """What to write. Raises DispatchvizError if neither name nor ``--format`` determines it, or they differ."""
    from dispatchviz.errors import DispatchvizError
    from dispatchviz.output import STANDARD_OUTPUT, check_suffix, suffix_of

    if output == STANDARD_OUTPUT:
        return f".{form or 'svg'}"
    if form is None:
        return check_suffix(output)
    if suffix_of(output) not in ("", f".{form}"):
        raise DispatchvizError(f"{output} is not the name of what --format {form} makes: leave one of them out")
    return f".{form}"
