"""``dispatchviz export --gallery FOLDER [SCRIPT-or-TRACE]...``: the pages of lessons and programs, and their list."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import click

from dispatchviz.cli import completion, options
from dispatchviz.foundation.english import numbered

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.lessons.guide import Guide
    from dispatchviz.lessons.lesson_file import Lesson
    from dispatchviz.outputs.gallery.index_page import Entry
    from dispatchviz.running.engine_choice.requested_engine import RequestedEngine

OPTION = "--gallery"
LIST = "index.html"
"""The name of the page that lists the others, which a host shows for the folder."""

PROGRAMS, OWN, LESSONS, MISCONCEPTIONS = "programs", "own", "lessons", "misconceptions"
"""The folders of the pages."""


class Wanted(NamedTuple):
    """The wish of a user for the programs of a gallery."""

    folder: Path
    engine: RequestedEngine | None
    cuda: str


@click.command("export")
@click.option(OPTION, "folder", metavar="FOLDER", required=True, type=click.Path(path_type=Path), help="The folder.")
@click.option("--lessons/--no-lessons", default=True, help="Add the lessons that ship with dispatchviz (the default).")
@options.engine
@options.cuda
@click.argument("sources", nargs=-1, metavar="[SCRIPT-or-TRACE]...", shell_complete=completion.programs)
def gallery_command(
    folder: Path, lessons: bool, engine: RequestedEngine | None, cuda: str, sources: tuple[str, ...]
) -> int:
    """Write a folder of interactive pages, listed by its index.html: your programs, traces and lessons, and the lessons
    that ship with dispatchviz. With --no-lessons, name those that you want.

    The folder works from a file and on any static host. Only pages of dispatchviz are overwritten.

    \b
    Examples:
      dispatchviz export --gallery site
      dispatchviz export --gallery site train.py run.dvtrace my_lesson.py
      dispatchviz export --gallery site --no-lessons my_lesson.py engine no_gradient
    """
    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.lessons.catalog import all_lessons, misconceptions, shipped_lessons
    from dispatchviz.outputs.gallery.index_page import BEGINS, Group, index_page
    from dispatchviz.outputs.written_files import check_place, write_bytes, writing
    from dispatchviz.running.program_source import read_source

    known = {path.stem: path for path in all_lessons(None)}
    shipped = shipped_lessons() if lessons else [known[source] for source in sources if _is_name(source, known)]
    beliefs = misconceptions() if lessons else ()
    own = [Path(source) for source in sources if _is_lesson(source)]
    programs = [one for one in dict.fromkeys(sources) if not (_is_lesson(one) or _is_name(one, known))]
    for source in programs:
        if trace_in(source) is None:
            read_source(source)  # a missing file is reported before anything is written
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_place(str(folder / LIST), "list of a gallery", BEGINS.search)
    written = [*_programs(programs, Wanted(folder, engine, cuda))]
    groups = (
        Group("Lessons", COURSE, [*_lessons([*_within(OWN, own), *_within(LESSONS, shipped)], folder)]),
        Group("Programs", "", [entry for entry, _ in written]),
        Group("Misconceptions", BELIEFS, [*_lessons([*_within(MISCONCEPTIONS, beliefs)], folder)]),
    )
    write_bytes(folder / LIST, index_page([group for group in groups if group.entries]))
    print_lines([f"{folder / LIST} written"])
    return max((status for _, status in written), default=0)


COURSE = "A lesson asks before it answers. Take them in this order, or choose one."
BELIEFS = "Each page refutes one wrong belief about PyTorch, with a step of a short program."


def _is_lesson(source: str) -> bool:
    from dispatchviz.lessons.catalog import has_marks

    return source.endswith(".py") and Path(source).is_file() and has_marks(Path(source))


def _is_name(source: str, known: Mapping[str, Path]) -> bool:
    """Return whether a source is the name of a lesson that ships with dispatchviz."""
    return source in known and not Path(source).exists()


def _programs(sources: Sequence[str], wanted: Wanted) -> Iterator[tuple[Entry, int]]:
    """Write the page of each program and trace. Yield its entry and the exit status."""
    from dispatchviz.outputs.gallery.index_page import Entry

    names = set[str]()
    for source in sources:
        trace, status = _recorded(source, wanted)
        name = next(one for one in _numbered(PurePath(source).stem) if one not in names)
        names.add(name)
        file = f"{PROGRAMS}/{name}.html"
        _write_page(wanted.folder / file, trace)
        yield Entry(file, f"`{_name(source, trace)}`", _described(trace)), status


def _name(source: str, trace: Trace) -> str:
    """Return the name of a saved trace's file, or of the program that was run."""
    from dispatchviz.outputs.formats import suffix_of
    from dispatchviz.outputs.trace_files import TRACES

    return PurePath(source if suffix_of(source) in TRACES else trace.header.program).name


def _numbered(stem: str) -> Iterator[str]:
    return (stem if at == 1 else f"{stem}-{at}" for at in count(1))


def _recorded(source: str, wanted: Wanted) -> tuple[Trace, int]:
    """Return a saved trace, or that of a program that is run; and the exit status."""
    from dispatchviz.cli.chosen_engine import announced, chosen_engine
    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.cli.script_run import conclude, run_script

    found = trace_in(source)
    if found is not None:
        return found, 0
    choice = announced(chosen_engine(wanted.engine, source, wanted.cuda))
    outcome = run_script(source, (), wanted.cuda, None, engine=choice)
    return outcome.trace, conclude(outcome, None)


def _described(trace: Trace) -> str:
    """Return what a program shows: the description of an example, or the first line of the docstring. Without one,
    return the number of its lines, or the number of steps if the trace has no source.
    """
    from dispatchviz.foundation.shipped_examples import examples

    for example in examples():
        if example.script == trace.header.program:
            return example.shows
    source = trace.header.sources.get(trace.header.program, "")
    if text := _docstring(source):
        return text.partition("\n")[0].replace("``", "`")
    lines = len(source.splitlines())
    return f"A program of {numbered(lines, 'line')}" if lines else f"A trace of {numbered(len(trace), 'step')}"


def _docstring(source: str) -> str:
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except SyntaxError:
        return ""


def _write_page(file: Path, trace: Trace, guide: Guide | None = None, following: Entry | None = None) -> None:
    """Write a page with links to the list and to the lesson that follows, if any."""
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.outputs.page.format import check_page
    from dispatchviz.outputs.page.gallery_links import GalleryLinks
    from dispatchviz.outputs.page.player_page import player_page
    from dispatchviz.outputs.without_folders import without_folders
    from dispatchviz.outputs.written_files import write_bytes, writing
    from dispatchviz.views.text.prose import without_backticks

    with writing(file.parent):
        file.parent.mkdir(exist_ok=True)
    check_page(str(file))
    following_page = (without_backticks(following.title), f"../{quote(following.file)}") if following else ()
    links = GalleryLinks(f"../{LIST}", *following_page)
    write_bytes(file, player_page(without_folders(trace), guide, links))
    print_lines([f"{file} written"])


def _within(folder: str, paths: Iterable[Path]) -> Iterator[tuple[Lesson, str]]:
    """Yield each lesson with the address of its page, from the folder of the gallery."""
    from dispatchviz.lessons.lesson_file import read_lesson

    for path in paths:
        lesson = read_lesson(path)
        yield lesson, f"{folder}/{lesson.name}.html"


def _lessons(lessons: Sequence[tuple[Lesson, str]], folder: Path) -> Iterator[Entry]:
    """Write the page of each lesson, which links to the next one. Yield its entry."""
    from dispatchviz.cli.lesson_show import guided
    from dispatchviz.outputs.gallery.index_page import Entry

    entries = [Entry(file, lesson.title, lesson.summary) for lesson, file in lessons]
    for (lesson, file), entry, following in zip(lessons, entries, [*entries, None][1:], strict=True):
        guide, trace = guided(lesson)
        _write_page(folder / file, trace, guide, following)
        yield entry
