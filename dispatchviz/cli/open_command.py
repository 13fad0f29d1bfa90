"""``dispatchviz open TRACE``."""

from __future__ import annotations

from typing import Any

import click

from dispatchviz.cli import options


@click.command("open", cls=options.LogCommand)
@options.step
@options.view
@options.as_json
@options.keymap
@options.plain
@options.log_filters
@options.traces
def command(
    step: int | None,
    view: str | None,
    as_json: bool,
    plain: bool,
    log: dict[str, Any],
    pager: bool,
    traces: tuple[str, ...],
) -> int:
    """Open the stepper on TRACE, a file saved with --save or by `trace.save(path)`; - reads standard input.

    Without a terminal, or with --plain, text is printed: the log, or all views of the step that --step names. Options
    that choose a part of the log print that part. A file that was cut off opens up to the cut. While a file is being
    recorded (NAME.part-PROCESS.dvtrace), the stepper shows new steps as they come.

    Several traces, or a folder of traces, are shown side by side: a lane for each process, and rows across the lanes
    for collectives, in which ranks wait for each other (record them with --ranks).

    \b
    Examples:
      dispatchviz open forum.dvtrace
      dispatchviz open --step 150 forum.dvtrace
      dispatchviz open --step 150 --view key-set forum.dvtrace
      dispatchviz open --step 150 --view key-set --json forum.dvtrace
      dispatchviz open --level calls --line 6 forum.dvtrace
      dispatchviz open train.rank0.dvtrace train.rank1.dvtrace
    """
    from dispatchviz.cli.followed_run import first_trace, followed
    from dispatchviz.cli.input_source import STANDARD_INPUT, alone, load
    from dispatchviz.cli.lanes_shown import show_lanes, traces_in
    from dispatchviz.cli.shown_trace import Shown
    from dispatchviz.cli.text_output import OPTIONS, Text

    shown = Shown(Text(view, log, pager, as_json), step, plain, pager)
    files = traces_in(traces)
    if len(files) > 1:
        chosen = {OPTIONS[name][2:]: True for name in log}
        alone("several traces", step=step, view=view, json=as_json, **chosen)
        show_lanes(files, plain, pager)
        return 0
    (trace,) = files
    file = None if shown.is_text else followed(trace)
    opened = load(trace) if file is None else first_trace(file)
    shown.show(opened, "" if trace == STANDARD_INPUT else trace, followed=file)
    return 0
