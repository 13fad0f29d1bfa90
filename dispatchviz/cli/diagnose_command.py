"""``dispatchviz why SCRIPT-or-TRACE``: the cause of what goes wrong in a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dispatchviz.cli import options

if TYPE_CHECKING:
    from dispatchviz.running.program_source import Script
    from dispatchviz.running.recording import EngineName
    from dispatchviz.trace import Trace


MOST_VALUES = 2_000
"""So many times the numbers of small tensors are recorded: in a long program to record all takes twice the time."""


@click.command("why", cls=options.OfProgram)
@options.engine
@options.cuda
@options.save
@options.as_json
@options.only
@options.limit
@options.code
@options.module
@options.source
@options.args
def command(
    engine: EngineName,
    cuda: str,
    save: str | None,
    as_json: bool,
    only: tuple[str, ...],
    limit: str | None,
    source: Script,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT and say why it fails, or what silently goes wrong in it; - reads it from standard input. A TRACE is
    read.

    Lines begin with why, "PyTorch says" and try; the line see has the command that opens the stepper at the proof. The
    exit status is 1 if the program raised, 0 otherwise. What the program prints goes to stderr.

    \b
    Examples:
      dispatchviz why examples/forum.py
      dispatchviz why --engine torch train.py --epochs 1
      dispatchviz why -c "import torch; torch.ones(2).sum().backward()"
      dispatchviz why forum.dvtrace
    """
    from dispatchviz.cli.input_source import alone, check_no_arguments, trace_in
    from dispatchviz.cli.script_run import kept, kept_trace, run_script
    from dispatchviz.foundation.errors import EndedBySignal
    from dispatchviz.outputs.trace_files import check_save
    from dispatchviz.running.program_source import name_of

    if save:
        check_save(save)
    recording: dict[str, Any] = {"only": only, "limit": limit}
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", save=save, engine=engine != "model", **recording)
        return _tell(trace, name_of(source), as_json)
    recording |= {"values": engine == "model", "most_values": MOST_VALUES}
    outcome = run_script(source, args, cuda, save, to_stderr=True, engine=engine, **recording)
    with kept(outcome, save):
        raised = _tell(outcome.trace, save or kept_trace(outcome.trace), as_json)
    if outcome.signal:
        raise EndedBySignal(outcome.signal)
    return raised or outcome.status


def _tell(trace: Trace, file: str, as_json: bool) -> int:
    """Prints the diagnoses; 1 if the program raised."""
    from dispatchviz.cli.lookup import print_json
    from dispatchviz.explain.diagnosis.diagnose import diagnoses
    from dispatchviz.foundation.shown_text import quoted
    from dispatchviz.views.cards.diagnosis_text import as_values, diagnosis_lines
    from dispatchviz.views.text.console import terminal

    found = diagnoses(trace)
    if as_json:
        print_json(as_values(trace, found))
    else:
        console = terminal()
        console.print(diagnosis_lines(trace, found, quoted(file) if file else "", console))
    return int(any(each.rank == "error" for each in found))
