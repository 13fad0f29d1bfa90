"""``dispatchviz why SCRIPT-or-TRACE``: why a program fails or goes wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dispatchviz.cli import completion, options
from dispatchviz.cli.fast_commands import click_command

if TYPE_CHECKING:
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
    from dispatchviz.running.program_source import Script
    from dispatchviz.trace import Trace


@click.command("why", cls=options.OfProgram)
@options.engine
@options.cuda
@options.save
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the parts of each diagnosis, and its steps.")
@click.option(
    "--call",
    metavar="OP",
    shell_complete=completion.operators,
    help="Print only the first call of OP, on one screen, to paste into an issue: key sets, winner, table entry, "
    "redispatches.",
)
@click.option("--line", metavar="[FILE:]N", help="With --call: print the first call on that line.")
@options.ranks
@options.only
@options.limit
@options.code
@options.module
@options.source
@options.args
def command(
    engine: RequestedEngine | None,
    cuda: str,
    save: str | None,
    as_json: bool,
    call: str | None,
    line: str | None,
    ranks: bool,
    recording: dict[str, Any],
    source: Script,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT, or read a TRACE, and explain why the program fails or silently goes wrong. Use - for standard input.

    An explanation has lines that begin with why, "PyTorch says" and try. The line see has the command that opens the
    stepper at the proof. If nothing is wrong, one line says so, and notes may follow: the order of hooks, the casts of
    autocast, frozen parameters. The exit status is 1 if the program raised, 0 otherwise. The program's output goes to
    stderr.

    With several traces of the processes of one program, or a folder of them, it first explains which rank never called
    a collective, or called another one.

    \b
    Examples:
      dispatchviz why examples/forum.py
      dispatchviz why --engine torch examples/mlp.py
      dispatchviz why -c "import torch; torch.ones(2).sum().backward()"
      dispatchviz why forum.dvtrace
      dispatchviz why --call add --line 6 examples/forum.py
      dispatchviz why train.rank0.dvtrace train.rank1.dvtrace
    """
    from dispatchviz.cli.chosen_engine import announced, chosen_engine
    from dispatchviz.cli.input_source import alone, check_no_arguments, trace_in
    from dispatchviz.cli.lanes_shown import tell_ranks, traces_of
    from dispatchviz.cli.script_run import kept, kept_trace, run_script
    from dispatchviz.foundation.errors import EndedBySignal
    from dispatchviz.outputs.trace_files import check_save
    from dispatchviz.running.program_source import name_of

    if line and not call:
        raise click.UsageError("--line is for --call OP, which is not given")
    tell = partial(_tell, as_json=as_json) if call is None else partial(_show_call, operator=call, line=line or "")
    if save:
        check_save(save)
    files = traces_of(source, args)
    if files is not None:
        alone("several traces", save=save, call=call, json=as_json, engine=engine, ranks=ranks, **recording)
        return tell_ranks(files)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", save=save, engine=engine, ranks=ranks, **recording)
        return tell(trace, name_of(source))
    if ranks:
        alone("--ranks", call=call, json=as_json)
        return _run_with_ranks(source, args, cuda, save, recording)
    choice = announced(chosen_engine(engine, source, cuda, args))
    outcome = run_script(source, args, cuda, save, to_stderr=True, engine=choice, **recording)
    with kept(outcome, save):
        raised = tell(outcome.trace, save or kept_trace(outcome.trace))
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return raised or outcome.status


def _run_with_ranks(
    source: Script, args: tuple[str, ...], cuda: str, save: str | None, recording: dict[str, Any]
) -> int:
    """Run with ``--ranks`` and explain all processes."""
    from dispatchviz.cli.family_runs import run_family
    from dispatchviz.cli.lanes_shown import tell_ranks
    from dispatchviz.cli.script_run import kept
    from dispatchviz.foundation.errors import EndedBySignal

    outcome, family = run_family(source, args, save, True, recording, cuda)
    with kept(outcome, family.shown):
        found = tell_ranks(family.files)
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return found or outcome.status


def _show_call(trace: Trace, file: str, operator: str, line: str) -> int:
    """Print one call; return 1 if the program raised."""
    from dispatchviz.explain.diagnosis.failure import failure
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.outputs.step.call_text import call_lines

    print_lines(call_lines(trace, operator, line))
    return int(failure(trace) is not None)


def _tell(trace: Trace, file: str, as_json: bool) -> int:
    """Print the diagnoses; return 1 if the program raised."""
    from dispatchviz.cli.chosen_engine import with_command
    from dispatchviz.cli.lookup import print_json
    from dispatchviz.explain.diagnosis.diagnose import diagnoses
    from dispatchviz.foundation.shown_text import quoted
    from dispatchviz.views.cards.diagnosis_text import as_values, diagnosis_lines
    from dispatchviz.views.text.console import terminal

    found = tuple(map(with_command, diagnoses(trace)))
    if as_json:
        print_json(as_values(trace, found))
    else:
        console = terminal()
        console.print(diagnosis_lines(trace, found, quoted(file) if file else "", console))
    return int(any(each.rank == "error" for each in found))


class Why(click.Command):
    """``why OP KEY`` and ``why --error``. The help also lists the options of ``why SCRIPT``."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage of all three forms."""
        return ["[OPTIONS]", "SCRIPT-or-TRACE [ARGS]... | OP KEY... | --error FILE"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of programs, then those of operators and errors."""
        own = [
            record
            for param in command.params
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None
        ]
        with formatter.section("Options before SCRIPT"):
            formatter.write_dl(own)
        super().format_options(ctx, formatter)


def with_operators() -> click.Command:
    """Create the command for operators and errors."""
    plain = click_command("why")
    return Why("why", params=plain.params, callback=plain.callback, help=plain.help)
