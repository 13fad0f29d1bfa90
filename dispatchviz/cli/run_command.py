"""``dispatchviz run SCRIPT [ARGS...]``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("run", context_settings=options.PROGRAM)
@options.cuda
@options.save
@options.step
@options.plain
@options.script
@options.args
def command(cuda: str, save: str | None, step: int | None, plain: bool, script: str, args: tuple[str, ...]) -> int:
    """Run SCRIPT on the model and open the stepper.

    Without a terminal, or with --plain, the text log is printed. What the program prints then goes to stderr, so that
    the log stays whole; it is in the log too. If the program raises, the stepper opens at that step.
    """
    import sys

    from dispatchviz.cli.running import conclude, run_script
    from dispatchviz.screen import print_log
    from dispatchviz.tui.terminal import can_run

    as_text = plain or can_run() is not None
    outcome = run_script(script, args, cuda, save, sys.stderr if as_text else None)
    if as_text:
        print_log(outcome.trace)
    else:
        from dispatchviz.tui.app import show

        show(outcome.trace, step, save or "")
    return conclude(outcome, save)
