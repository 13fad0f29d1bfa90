"""``dispatchviz run SCRIPT [ARGS...]``."""

from __future__ import annotations

import click

from dispatchviz.cli import options


@click.command("run", cls=options.Program)
@options.cuda
@options.save
@options.step
@options.plain
@click.option(
    "--follow",
    is_flag=True,
    help="Open the stepper at once and show what comes. The program runs without a keyboard; its output comes when the "
    "stepper is closed.",
)
@options.no_trace
@options.only
@options.limit
@options.hashes
@options.source
@options.args
def command(
    cuda: str,
    save: str | None,
    step: int | None,
    plain: bool,
    follow: bool,
    no_trace: bool,
    only: tuple[str, ...],
    limit: str | None,
    hashes: bool,
    source: str,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT on the model and open the stepper; - reads it from standard input. A TRACE is opened.

    Everything after SCRIPT is the script's own: options of dispatchviz come before it.

    Without a terminal, or with --plain, the text log is printed. What the program prints then goes to stderr, so that
    the log stays whole; it is in the log too. If the program raises, the stepper opens at that step.

    With --no-trace the program only runs: its output and its exit status are all there is.
    """
    from dispatchviz.cli.input_source import STANDARD_INPUT, alone, check_no_arguments, check_step, trace_in
    from dispatchviz.cli.script_run import conclude, kept, run_script, run_script_untraced
    from dispatchviz.output import check_save, save_trace
    from dispatchviz.screen import show
    from dispatchviz.tui.terminal.support import can_run

    if no_trace:
        alone("--no-trace", save=save, step=step, plain=plain, follow=follow, only=only, limit=limit, hashes=hashes)
        return run_script_untraced(source, args, cuda)
    if save:
        check_save(save)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", follow=follow, only=only, limit=limit, hashes=hashes)
        if save:
            save_trace(trace, save)
        check_step(trace, step)
        show(trace, step, save or ("" if source == STANDARD_INPUT else source), plain, ())
        return 0
    as_text = plain or can_run() is not None
    if follow:
        return _followed(source, args, cuda, save, step, only, limit, hashes, "with --plain" if plain else can_run())
    outcome = run_script(source, args, cuda, save, to_stderr=as_text, only=only, limit=limit, hashes=hashes)
    with kept(outcome, save):
        check_step(outcome.trace, step)
        device = () if cuda == "auto" else ("--cuda", cuda)
        show(outcome.trace, step, save or "", plain, () if source == STANDARD_INPUT else (*device, source, *args))
    return conclude(outcome, save)


def _followed(
    source: str,
    args: tuple[str, ...],
    cuda: str,
    save: str | None,
    step: int | None,
    only: tuple[str, ...],
    limit: str | None,
    hashes: bool,
    why_not: str | None,
) -> int:
    """``run --follow``. Raises DispatchvizError where no stepper can open, and for a program from standard input."""
    from dispatchviz.cli.followed_run import run_followed
    from dispatchviz.cli.input_source import STANDARD_INPUT
    from dispatchviz.errors import DispatchvizError

    if why_not is not None:
        raise DispatchvizError(f"--follow opens the stepper, which does not open here: {why_not}")
    if source == STANDARD_INPUT:
        raise DispatchvizError("--follow needs the program in a file: from standard input keys come")
    given = (
        *(("--cuda", cuda) if cuda != "auto" else ()),
        *(("--limit", limit) if limit else ()),
        *(["--hashes"] if hashes else ()),
    )
    return run_followed(source, args, (*given, *(part for one in only for part in ("--only", one))), save, step)
