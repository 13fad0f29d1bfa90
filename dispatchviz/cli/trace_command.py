"""``dispatchviz trace SCRIPT [ARGS...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dispatchviz.cli import options

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
    from dispatchviz.running.program_source import Script


@click.command("trace", cls=options.Program)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "torch", "jsonl"]),
    default="text",
    help="Print this format. text: the log with reasons. torch: the lines of a debug build of PyTorch under "
    "TORCH_SHOW_DISPATCH_TRACE=1. jsonl: the trace file.",
)
@click.option(
    "--stack",
    metavar="STEP",
    type=click.IntRange(min=0),
    help="Instead of the log, print every function of PyTorch that runs at this step, with its file and role.",
)
@click.option("--fold", is_flag=True, help="With --stack: show frames that are the same in every call as one row.")
@click.option("-o", "--output", metavar="FILE", help="Write the log to FILE; the program's output stays on stdout.")
@options.log_filters
@options.engine
@options.cuda
@options.save
@options.only
@options.limit
@options.ranks
@options.strict
@options.unbuffered
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
    engine: RequestedEngine | None,
    cuda: str,
    save: str | None,
    recording: dict[str, Any],
    ranks: bool,
    strict: bool,
    source: Script,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT and print the log, or print the log of a TRACE. Use - for standard input.

    SCRIPT runs on the model, or on the installed PyTorch if it uses names that the model lacks; --engine decides.

    Everything after SCRIPT, -c CODE or -m MODULE belongs to the program, so options of dispatchviz come before it.

    The program's output goes to stderr, so that the log stays whole. With -o it goes to stdout.

    \b
    Examples:
      dispatchviz trace examples/forum.py
      dispatchviz trace --level calls examples/forum.py
      dispatchviz trace --line 7 --no-backward examples/forum.py
      dispatchviz trace --op add -o add.log examples/forum.py
      dispatchviz trace --stack 45 examples/forum.py
      dispatchviz trace --format torch -m examples.forum
    """
    from dispatchviz.cli.checked_before_run import check_filters
    from dispatchviz.cli.chosen_engine import chosen_engine
    from dispatchviz.cli.family_runs import run_family
    from dispatchviz.cli.input_source import alone, check_no_arguments, trace_in
    from dispatchviz.cli.script_run import conclude, kept, run_script
    from dispatchviz.outputs.trace_files import check_save, save_trace
    from dispatchviz.outputs.written_files import STANDARD_OUTPUT
    from dispatchviz.running.engine_choice.choice import Choice

    shown = _Shown(form, None if output == STANDARD_OUTPUT else output, log, pager, stack, fold)
    shown.check(output)
    if save:
        check_save(save)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", strict=strict, engine=engine, ranks=ranks, **recording)
        if save:
            save_trace(trace, save)
        shown.write(trace)
        return 0
    choice = Choice("torch") if ranks else chosen_engine(engine, source, cuda, args)
    check_filters(log, source, choice.engine)
    if ranks:
        outcome, family = run_family(source, args, save, not shown.file, recording, cuda)
        with kept(outcome, family.shown):
            for name, recorded in family.traces():
                shown.of_process(name).write(recorded)
        return conclude(outcome, family.shown, strict, has_log=form == "text" and output is None)
    outcome = run_script(source, args, cuda, save, to_stderr=not shown.file, engine=choice, **recording)
    with kept(outcome, save):
        shown.write(outcome.trace)
    return conclude(
        outcome, save or (shown.file if form == "jsonl" else None), strict, has_log=form == "text" and output is None
    )


class _Shown(NamedTuple):
    """The wanted part of a trace: its log, or the call chain of one step."""

    form: str
    file: str | None
    """The output file; None is standard output."""
    log: dict[str, Any]
    pager: bool
    stack: int | None
    """The step whose call chain is wanted; None for the log."""
    fold: bool

    def check(self, output: str | None) -> None:
        """Raise UsageError or DispatchvizError for options that do not go together, or a file that cannot be
        written.
        """
        from dispatchviz.cli.input_source import check_alone
        from dispatchviz.cli.text_output import OPTIONS
        from dispatchviz.outputs.log.format import check_log
        from dispatchviz.outputs.trace_files import check_trace

        filters = [OPTIONS[name] for name in self.log]
        form = [f"--format {self.form}"] if self.form != "text" else []
        if self.stack is not None:
            check_alone("--stack", [*(["-o"] if output else []), *form, *filters])
        elif self.fold:
            raise click.UsageError("--fold is for --stack STEP, which is not given")
        elif form:
            check_alone(form[0], filters)
        if self.file:
            (check_trace if self.form == "jsonl" else check_log)(self.file)

    def of_process(self, name: str) -> _Shown:
        """Return the same for one process of several. Its log has a file of its own, or a title."""
        from dispatchviz.foundation.terminal_output import print_lines
        from dispatchviz.running.process.family_files import of_process

        if self.file is None and self.form == "text":
            print_lines(["", f"── {name or 'main'} ──", ""])
        return self._replace(file=self.file and of_process(self.file, name), pager=False)

    def write(self, trace: Trace) -> None:
        """Write it. Raise DispatchvizError if the trace has no such step."""
        if self.stack is None:
            from dispatchviz.outputs.log.format import write_log

            write_log(trace, self.form, self.file, self.log, self.pager)
        else:
            from dispatchviz.cli.input_source import check_step
            from dispatchviz.outputs.step.step_text import print_stack

            check_step(trace, self.stack)
            print_stack(trace, self.stack, self.fold, self.pager)
