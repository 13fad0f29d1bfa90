"""``dispatchviz run SCRIPT [ARGS...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dispatchviz.cli import options

if TYPE_CHECKING:
    from dispatchviz.cli.shown_trace import Shown
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
    from dispatchviz.running.program_source import Script


@click.command("run", cls=options.Program)
@options.engine
@options.cuda
@options.save
@options.step
@options.view
@options.as_json
@options.keymap
@options.plain
@options.log_filters
@click.option(
    "--follow",
    is_flag=True,
    help="Open the stepper at once and show steps as they come. The program has no keyboard; its output appears when "
    "the stepper is closed.",
)
@options.no_trace
@options.ranks
@options.only
@options.limit
@options.strict
@options.unbuffered
@options.hashes
@options.values
@options.code
@options.module
@options.source
@options.args
def command(
    engine: RequestedEngine | None,
    cuda: str,
    save: str | None,
    step: int | None,
    view: str | None,
    as_json: bool,
    plain: bool,
    log: dict[str, Any],
    pager: bool,
    follow: bool,
    no_trace: bool,
    ranks: bool,
    recording: dict[str, Any],
    strict: bool,
    source: Script,
    args: tuple[str, ...],
) -> int:
    """Run SCRIPT and open the stepper, or open a TRACE. Use - for standard input.

    SCRIPT runs on the model, or on the installed PyTorch if it uses names that the model lacks; --engine decides.

    Everything after SCRIPT, -c CODE or -m MODULE belongs to the program, so options of dispatchviz come before it.

    Without a terminal, or with --plain, text is printed: the log, or all views of the step that --step names. Options
    that choose a part of the log print that part. The program's output then goes to stderr, so that the text stays
    whole; it is in the log, too. If the program raises, the stepper opens at that step.

    With --no-trace the program runs on the model without a recording; you see only its output and its exit status.

    \b
    Examples:
      dispatchviz run examples/forum.py
      dispatchviz run --save forum.dvtrace examples/forum.py
      dispatchviz run --step 150 --view key-set examples/forum.py
      dispatchviz run -c "import torch; torch.ones(2, requires_grad=True) * 2"
      dispatchviz run -m examples.forum
      dispatchviz run --no-trace examples/mlp.py
    """
    from dispatchviz.cli.checked_before_run import check_filters
    from dispatchviz.cli.chosen_engine import chosen_engine
    from dispatchviz.cli.family_runs import saved_by_rank
    from dispatchviz.cli.input_source import STANDARD_INPUT, alone, check_no_arguments, trace_in
    from dispatchviz.cli.script_run import conclude, kept, run_script, run_script_untraced
    from dispatchviz.cli.shown_trace import Shown
    from dispatchviz.cli.text_output import OPTIONS, Text
    from dispatchviz.outputs.trace_files import check_save, save_trace
    from dispatchviz.running.engine_choice.choice import Choice
    from dispatchviz.running.process.family_files import is_one_of_several
    from dispatchviz.running.program_source import name_of, typed

    shown = Shown(Text(view, log, pager, as_json), step, plain, pager)
    filters = {OPTIONS[name][2:]: True for name in log}
    if no_trace:
        alone(
            "--no-trace", save=save, step=step, view=view, json=as_json, plain=plain, follow=follow,
            engine=engine not in (None, "model"), strict=strict, ranks=ranks, **recording, **filters
        )  # fmt: skip
        return run_script_untraced(source, args, cuda)
    if save:
        check_save(save)
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", follow=follow, strict=strict, engine=engine, ranks=ranks, **recording)
        if save:
            save_trace(trace, save)
        shown.show(trace, save or ("" if source == STANDARD_INPUT else name_of(source)))
        return 0
    choice = Choice("torch") if ranks else chosen_engine(engine, source, cuda, args)
    check_filters(log, source, choice.engine)
    as_text = shown.why_no_stepper is not None
    if ranks:
        alone("--ranks", follow=follow, step=step, view=view, json=as_json, **filters)
        return _run_with_ranks(source, args, cuda, save, recording, as_text, pager, strict)
    if follow:
        recorded = _recorded(engine, cuda, **recording)
        return _followed(source, args, (*recorded, *(["--strict"] if strict else ())), save, shown)
    shows = shown.is_text or not (save and is_one_of_several())  # else torchrun started us several times
    save = saved_by_rank(save)
    outcome = run_script(source, args, cuda, save, to_stderr=shows and as_text, engine=choice, **recording)
    if not shows:
        return conclude(outcome, save, strict)
    with kept(outcome, save):
        recorded = _recorded(None if choice.engine == "model" else choice.engine, cuda, **recording)
        shown.show(outcome.trace, save or "", () if source == STANDARD_INPUT else (*recorded, *typed(source), *args))
    return conclude(outcome, save, strict, has_log=as_text)


def _run_with_ranks(
    source: Script,
    args: tuple[str, ...],
    cuda: str,
    save: str | None,
    recording: dict[str, Any],
    plain: bool,
    pager: bool,
    strict: bool,
) -> int:
    """Run with ``--ranks`` and show all processes side by side."""
    from dispatchviz.cli.family_runs import run_family
    from dispatchviz.cli.lanes_shown import show_lanes
    from dispatchviz.cli.script_run import conclude, kept
    from dispatchviz.running.process.family_files import is_one_of_several

    shows = not is_one_of_several()  # else torchrun started us several times
    outcome, family = run_family(source, args, save, plain and shows, recording, cuda)
    with kept(outcome, family.shown):
        if shows:
            show_lanes(family.files, plain, pager)
    return conclude(outcome, family.shown, strict, has_log=False)


def _recorded(
    engine: RequestedEngine | None,
    cuda: str,
    only: tuple[str, ...],
    limit: str | None,
    unbuffered: bool,
    hashes: bool,
    values: bool | None,
) -> tuple[str, ...]:
    """Return the options that record a program again with the same step numbers."""
    return (
        *(("--engine", engine) if engine else ()),
        *(("--cuda", cuda) if cuda != "auto" else ()),
        *(part for one in only for part in ("--only", one)),
        *(("--limit", limit) if limit else ()),
        *(["--unbuffered"] if unbuffered else ()),
        *(["--hashes"] if hashes else ()),
        *(() if values is None else ["--values" if values else "--no-values"]),
    )


def _followed(
    source: Script,
    args: tuple[str, ...],
    recorded: tuple[str, ...],
    save: str | None,
    shown: Shown,
) -> int:
    """Run with ``--follow``. Raise DispatchvizError where no stepper can open, and for a program from standard
    input.
    """
    from dispatchviz.cli.followed_run import run_followed
    from dispatchviz.cli.input_source import STANDARD_INPUT
    from dispatchviz.foundation.errors import DispatchvizError

    if shown.why_no_stepper is not None:
        raise DispatchvizError(f"--follow needs the stepper, which does not open here: {shown.why_no_stepper}")
    if source == STANDARD_INPUT:
        raise DispatchvizError("--follow needs the program in a file: standard input provides the keys")
    return run_followed(source, args, recorded, save, shown.step)
