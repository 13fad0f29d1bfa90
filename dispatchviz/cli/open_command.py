"""``dispatchviz open TRACE``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("open")
@options.step
@options.plain
@click.argument("trace")
def command(step: int | None, plain: bool, trace: str) -> int:
    """Open the stepper on TRACE, a file saved with --save or by `trace.save(path)`.

    Without a terminal, or with --plain, the text log is printed. A file that was cut off opens up to the cut.
    """
    import sys

    from dispatchviz.screen import print_log, show
    from dispatchviz.trace import Trace

    opened = Trace.load(trace)
    if opened.notice:
        print(f"dispatchviz: {opened.notice}", file=sys.stderr)
    if plain:
        print_log(opened)
    else:
        show(opened, step, trace)
    return 0
