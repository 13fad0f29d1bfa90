"""``dispatchviz open TRACE``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("open")
@options.step
@options.plain
@options.trace
def command(step: int | None, plain: bool, trace: str) -> int:
    """Open the stepper on TRACE, a file saved with --save or by `trace.save(path)`; - reads standard input.

    Without a terminal, or with --plain, the text log is printed. A file that was cut off opens up to the cut. One that
    is still being recorded (NAME.part-PROCESS.dvtrace) is followed: the stepper shows what comes.
    """
    from dispatchviz.cli.followed_run import first_trace, followed
    from dispatchviz.cli.input_source import STANDARD_INPUT, check_step, load
    from dispatchviz.screen import show

    file = None if plain else followed(trace)
    opened = load(trace) if file is None else first_trace(file)
    check_step(opened, step)
    show(opened, step, "" if trace == STANDARD_INPUT else trace, plain, (), file)
    return 0
