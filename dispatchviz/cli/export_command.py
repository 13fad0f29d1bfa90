"""``dispatchviz export SCRIPT-or-TRACE -o FILE``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from dispatchviz.cli import completion, options, picture_choice
from dispatchviz.cli.typed_command import remember
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.chosen_steps import Steps
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.formats import FORMATS, check_export, check_suffix, format_of, suffix_of
from dispatchviz.outputs.picture.format import PICTURE
from dispatchviz.outputs.table.format import TABLE
from dispatchviz.outputs.trace_files import TRACE
from dispatchviz.outputs.written_files import STANDARD_OUTPUT
from dispatchviz.running.program_source import name_of

if TYPE_CHECKING:
    from dispatchviz.outputs.picture.chosen_picture import Chosen
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine
    from dispatchviz.running.program_source import Script
    from dispatchviz.trace import Trace


class Export(click.Command):
    """The command ``export``. Its options may follow the script; the script's arguments come after ``--``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line. With ``--gallery`` it is that of another command."""
        if any(word.partition("=")[0] == "--gallery" for word in takewhile(lambda word: word != "--", args)):
            from dispatchviz.cli.gallery_command import gallery_command

            args = ["--help"] if {"-h", "--help"} & {*args} else args
            return gallery_command.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line. Raise UsageError for arguments of the script before ``--``."""
        ours, script, own = options.split_at_program(self, args)
        if script is not None:
            super().parse_args(ctx, [*ours, "--", name_of(script)])
            remember(ctx, ours, args[len(ours) :])
            ctx.params.update(source=script, args=tuple(own), more=())
            return []
        end = args.index("--") if "--" in args else len(args)
        remember(ctx, args[:end], args[end:])
        try:
            rest = super().parse_args(ctx, args[:end])
        except click.NoSuchOption as error:
            raise click.UsageError(f"there is no option {error.option_name}{_AFTER}", ctx) from None
        ctx.params["more"] = ctx.params["args"]
        if ctx.params["more"] and not ctx.resilient_parsing and not _is_table(**ctx.params):
            raise click.UsageError(f"{ctx.params['more'][0]} is one argument too many{_AFTER}", ctx)
        ctx.params["args"] = tuple(args[end + 1 :])
        return rest


_AFTER = "; arguments of the script come after --"


def _is_table(output: str, form: str | None, **_: object) -> bool:
    """Return whether the output is a table. Only a table takes several traces."""
    return form in TABLE.forms or output.lower().endswith(TABLE.suffixes)


HELP = """Write a file from a program or a saved trace; the suffix decides what it contains.

\b
{formats}

- as SCRIPT-or-TRACE is standard input, and as FILE standard output.
Arguments of the script come after --. Everything after -c CODE or -m MODULE belongs to the program.

\b
Examples:
  dispatchviz export examples/forum.py -o graph.svg
  dispatchviz export forum.dvtrace -o graph.dot
  dispatchviz export examples/mlp.py -o mlp.svg --cluster module --dark
  dispatchviz export examples/mlp.py -o calls.svg --picture calls
  dispatchviz export forum.dvtrace -o decision.svg --picture decision --step 12
  dispatchviz export forum.dvtrace -o forum.perfetto.json
  dispatchviz export forum.dvtrace -o steps.md --steps 40-80 --level keys
  dispatchviz export examples/mlp.py -o mlp.dvtrace -- --lr 0.1
  dispatchviz export examples/forum.py -o forum.html
  dispatchviz export -o graph.svg -m examples.mlp --lr 0.1
  dispatchviz export --gallery site train.py
""".format(formats="\n".join(f"{' '.join(each.suffixes):<28} {each.help}" for each in FORMATS))


@click.command("export", cls=Export, help=HELP)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    shell_complete=completion.files,
    help="Write this file; the suffix decides the format. - is standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form for each in FORMATS for form in each.forms]),
    help="Write this format if FILE has no suffix. Default for standard output: svg.",
)
@click.option(
    "--gallery",
    metavar="FOLDER",
    expose_value=False,
    help="Instead of a file, write a folder of pages with a list: your programs, traces and lessons, and those lessons "
    "that ship with dispatchviz. dispatchviz export --gallery FOLDER --help",
)
@picture_choice.options
@click.option(
    "--run",
    metavar="NAME",
    help="Write this name into the column run of a table. Default: the name of the SCRIPT or of each TRACE.",
)
@click.option(
    "--level",
    metavar="|".join(options.LEVELS),
    type=click.Choice(options.LEVELS),
    help="Choose how much a log or a hand-out shows, as trace --level does. Default for a hand-out: calls.",
)
@click.option(
    "--view",
    "views",
    metavar="NAME",
    multiple=True,
    shell_complete=completion.views,
    help="In a hand-out, add this view of each step below its table, as open --view shows it.",
)
@options.ranks
@options.only
@options.limit
@options.strict
@options.hashes
@options.values
@options.engine
@options.cuda
@options.code
@options.module
@options.source
@options.args
def command(
    output: str,
    form: str | None,
    chosen: Chosen,
    given: list[str],
    run: str | None,
    steps: str | None,
    level: str | None,
    views: tuple[str, ...],
    ranks: bool,
    recording: dict[str, Any],
    strict: bool,
    engine: RequestedEngine | None,
    cuda: str,
    source: Script,
    more: tuple[str, ...],
    args: tuple[str, ...],
) -> int:
    """Write the file."""
    from contextlib import suppress

    from dispatchviz.cli.input_source import alone, check_no_arguments, trace_in
    from dispatchviz.outputs.picture.svg import RenderError

    suffix = _suffix(output, form)
    wanted = format_of(suffix)
    chosen_steps = Steps(steps if "--steps" in wanted.options and wanted is not PICTURE else None, level, views)
    _check_options(wanted, suffix, chosen, given, [*chosen_steps.given, *(["--run"] if run is not None else [])])
    chosen_steps.check()
    check_export(output, suffix)
    if more:
        check_no_arguments(source, args)
        alone("saved traces", ranks=ranks, strict=strict, engine=engine, **recording)
        _export_table((name_of(source), *more), output, run or "")
        return 0
    file = _File(wanted, Request(output, suffix, chosen, chosen_steps, run or "", name_of(source)))
    trace = trace_in(source)
    if trace is not None:
        check_no_arguments(source, args)
        alone("a saved trace", ranks=ranks, strict=strict, engine=engine, **recording)
        file.write(trace)
        return 0
    if ranks:
        return _export_ranks(file, source, args, recording, cuda, strict)
    from dispatchviz.cli.chosen_engine import announced, chosen_engine
    from dispatchviz.cli.script_run import conclude, kept, run_script  # imports the whole model

    choice = announced(chosen_engine(engine, source, cuda, args))
    outcome = run_script(
        source, args, cuda, file.saved, to_stderr=output == STANDARD_OUTPUT, engine=choice, **recording
    )
    with (
        kept(outcome, file.saved),
        suppress(*[RenderError] if outcome.error else []),
    ):  # its own error explains a missing picture
        if file.saved is None:
            file.write(outcome.trace)
    return conclude(outcome, file.saved, strict)


class _File(NamedTuple):
    """The wanted file."""

    format: Format
    request: Request

    @property
    def saved(self) -> str | None:
        """The path of a trace that is written while the program runs; None for other files."""
        path = self.request.path
        return path if self.format is TRACE and path != STANDARD_OUTPUT else None

    def write(self, trace: Trace, process: str = "") -> None:
        """Write the file of a trace, or of one process of several."""
        from dispatchviz.running.process.family_files import of_process

        _say(self.format.write(trace, replace(self.request, path=of_process(self.request.path, process))))


def _export_ranks(
    file: _File, source: Script, args: tuple[str, ...], recording: dict[str, Any], cuda: str, strict: bool
) -> int:
    """Run with ``--ranks`` and write a file for each process, or one table of all."""
    from dispatchviz.cli.family_runs import run_family
    from dispatchviz.cli.script_run import conclude, kept

    output = file.request.path
    if output == STANDARD_OUTPUT:
        raise DispatchvizError("--ranks writes a file for each process: name a file instead of -")
    outcome, family = run_family(source, args, file.saved, False, recording, cuda)
    with kept(outcome, family.shown):
        if file.format is TABLE:
            _export_table(tuple(family.files), output, file.request.run)
        elif file.saved is None:
            for process, recorded in family.traces():
                file.write(recorded, process)
    return conclude(outcome, family.shown, strict)


def _check_options(
    wanted: Format, suffix: str, chosen: Chosen, of_pictures: Sequence[str], others: Sequence[str]
) -> None:
    """Raise DispatchvizError for options that the format does not take, and for a theme that a picture cannot have."""
    from dispatchviz.cli.input_source import check_alone
    from dispatchviz.outputs.picture.drawn_picture import check_theme

    if wanted is PICTURE:
        check_theme(suffix, chosen.options.theme)
    elif wrong := [each for each in of_pictures if each not in wanted.options]:
        raise DispatchvizError(f"{wrong[0]} is for a picture ({', '.join(PICTURE.suffixes)}), not for a {suffix} file")
    check_alone(f"a {suffix} file", [each for each in others if each not in wanted.options])


def _export_table(sources: tuple[str, ...], output: str, run: str) -> None:
    """Write several traces as one table. They are opened one after the other."""
    from dispatchviz.cli.input_source import load
    from dispatchviz.outputs.table.format import export_table, run_name
    from dispatchviz.outputs.table.parquet import Run

    export_table((Run(run or run_name(source), load(source), source) for source in sources), output)


def _say(note: str) -> None:
    import sys

    from dispatchviz.foundation.terminal_output import print_lines

    if note:
        print_lines([note], sys.stderr)


def _suffix(output: str, form: str | None) -> str:
    """Return the suffix that decides the format. Raise DispatchvizError if neither name nor ``--format`` determines it,
    or they differ.
    """
    if form is None:
        return ".svg" if output == STANDARD_OUTPUT else check_suffix(output)
    found = next(each for each in FORMATS if form in each.forms)
    forms = found.suffixes if found.form else (f".{form}",)
    suffix = "" if output == STANDARD_OUTPUT else suffix_of(output)
    if suffix not in ("", *forms):
        raise DispatchvizError(f"{output} is not a name for --format {form}: leave one of them out")
    return suffix or forms[0]
