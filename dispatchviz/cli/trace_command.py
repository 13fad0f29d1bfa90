"""``dispatchviz trace SCRIPT [ARGS...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dispatchviz.cli import options

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.program_source import Script


@click.command("trace", cls=options.Program)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "torch", "jsonl"]),
    default="text",
    help="text: with the reasons. torch: the lines of a debug PyTorch under TORCH_SHOW_DISPATCH_TRACE=1. "
    "jsonl: the trace file.",
)
@click.option(
    "--stack",
    metavar="STEP",
    type=int,
    help="Print instead of the log every function of PyTorch that a step is in, with its file and role.",
)
@click.option("--fold", is_flag=True, help="With --stack: frames that are the same in every call as one row.")
@click.option("-o", "--output", metavar="FILE", help="Write the log to FILE; the program's output stays on stdout.")
@options.log_filters
@options.cuda
@options.save
@options.only
@options.limit
@options.hashes
@options.values
@options.code
@options.module
@options.source
@options.args
def command(
    form: str,
    stack: int | None,
    fold: bool,
    output: str | None,
    log: dict[str, Any],
    pager: bool,
    cuda: str,
    save: str | None,
    only: tuple[str, ...],
    limit: str | None,
    hashes: bool,
    values: bool,
    source: Script,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT on the model and print the log; - reads it from standard input. Of a TRACE the log is printed.

    Everything after SCRIPT, -c CODE or -m MODULE is the program's own: options of dispatchviz come before it.

    What the program prints goes to stderr, so that the log stays whole (with -o: to stdout, as always).

    \b
    Examples:
      dispatchviz trace examples/forum.py
      dispatchviz trace --level calls examples/forum.py
      dispatchviz trace --line 7 --no-backward examples/forum.py
      dispatchviz trace --op add -o add.log examples/forum.py
      dispatchviz trace --stack 45 examples/forum.py
      dispatchviz trace --format torch -m examples.forum
    """
    from dispatchviz.cli.input_source import alone, check_alone, check_no_arguments, trace_in
    from dispatchviz.cli.script_run import conclude, kept, run_script
    from dispatchviz.cli.text_output import OPTIONS
    from dispatchviz.output import STANDARD_OUTPUT, check_log, check_save, check_trace, save_trace

    if fold and stack is None:
        raise click.UsageError("--fold is for --stack STEP, which is not given")
    if stack is not None:
        others = [("-o", output), (f"--format {form}", form != "text"), *((OPTIONS[name], True) for name in log)]
        check_alone("--stack", [name for name, given in others if given])
    if form != "text":
        check_alone(f"--format {form}", [OPTIONS[name] for name in log])
    file = None if output == STANDARD_OUTPUT else output
    if save:
        check_save(save)
    if file:
        (check_trace if form == "jsonl" else check_log)(file)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", only=only, limit=limit, hashes=hashes, values=values)
        if save:
            save_trace(trace, save)
        _write(trace, form, file, log, pager, stack, fold)
        return 0
    outcome = run_script(
        source, args, cuda, save, to_stderr=not file, only=only, limit=limit, hashes=hashes, values=values
    )
    with kept(outcome, save):
        _write(outcome.trace, form, file, log, pager, stack, fold)
    return conclude(outcome, save or (file if form == "jsonl" else None))


def _write(
    trace: Trace, form: str, file: str | None, log: dict[str, Any], pager: bool, stack: int | None, fold: bool
) -> None:
    """The log, or the call chain of one step."""
    if stack is None:
        from dispatchviz.output import write_log

        write_log(trace, form, file, log, pager)
    else:
        from dispatchviz.cli.input_source import check_step
        from dispatchviz.plain_views import print_stack

        check_step(trace, stack)
        print_stack(trace, stack, fold, pager)
