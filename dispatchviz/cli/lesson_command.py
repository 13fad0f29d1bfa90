"""``dispatchviz lesson [NAME]``, ``lesson new``, ``lesson check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dispatchviz.lessons.lesson_file import Lesson
    from dispatchviz.running.recording import EngineName

FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Use your own lessons: the .py files of this folder, by name.",
)


class Lessons(click.Group):
    """The group ``lesson``. A word that is no subcommand names a lesson, whose options may precede it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move options of a lesson from before its name to after it."""
        own = {option for parameter in show.params for option in parameter.opts if option.startswith("-")}
        valued = {"-o", "--output", "--answers", "--folder", "--mine", "--hint"}
        before, moved, left = list[str](), list[str](), list(args)
        while left and left[0].startswith("-"):
            option = left.pop(0)
            parts = [option, *(left[:1] if option in valued else ())]
            left = left[len(parts) - 1 :]
            (moved if option.partition("=")[0] in own else before).extend(parts)
        return super().parse_args(ctx, [*before, *left, *moved] if left else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            return args[0], show, args
        return super().resolve_command(ctx, args)


@click.group(
    "lesson",
    cls=Lessons,
    invoke_without_command=True,
    subcommand_metavar="[NAME | new FILE | check [LESSON]... | results FILE...]",
)
@FOLDER
@click.pass_context
def command(context: click.Context, folder: Path | None) -> None:
    """Open a guided lesson: a short program, questions before answers, places to look at. Without NAME, list all.

    \b
    new FILE           create a lesson of your own from a template
    check [LESSON]...  run lessons, by name or file, and report problems; without LESSON check all
    results FILE...    sum up the answers of learners: their files, or folders with these files

    \b
    NAME --plain         print the lesson with the view at each stop
    NAME --present       present it to an audience: two panes, large gaps, a clicker's PgDn and PgUp
    NAME -o FILE.md      write a hand-out
    NAME -o FILE.html    write an interactive page of it
    NAME --answers FILE  keep your answers in FILE, for results
    NAME --mine FILE     compare your own program in FILE with the lesson's; --hint 1, 2, 3 give hints

    \b
    Examples:
      dispatchviz lesson
      dispatchviz lesson forum
      dispatchviz lesson --folder examples/lessons forum
      dispatchviz lesson check forum
    """
    context.obj = folder
    if context.invoked_subcommand is None:
        from dispatchviz.cli.lesson_texts import listed
        from dispatchviz.foundation.terminal_output import print_lines

        where = "" if folder is None else f" --folder {folder}"
        print_lines([*listed(folder), "", f"dispatchviz lesson{where} NAME opens one; a number works, too"])


@click.command("NAME")
@click.argument("name", metavar="")
@click.option("--plain", is_flag=True, help="Print the lesson with the view at each stop.")
@click.option(
    "--present", is_flag=True, help="Present to an audience: two panes, large gaps, a clicker's PgDn and PgUp."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write a hand-out (.md), or an interactive page of the lesson (.html). Other files are not overwritten.",
)
@click.option(
    "--answers", metavar="FILE", type=click.Path(path_type=Path), help="Keep your answers in FILE, for results."
)
@click.option(
    "--mine",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Report which facts and goals of the lesson hold in your program FILE. A missing FILE is written first.",
)
@click.option("--hint", type=click.IntRange(1, 3), metavar="1|2|3", help="With --mine, give the hints up to this one.")
@click.pass_context
def show(
    context: click.Context,
    name: str,
    plain: bool,
    present: bool,
    output: str | None,
    answers: Path | None,
    mine: Path | None,
    hint: int | None,
) -> int:
    """Open a lesson. Without a terminal, print its text."""
    from dispatchviz.cli.lesson_show import show_lesson

    lesson = _named(name, context.obj)
    if mine is None:
        if hint is not None:
            raise click.UsageError("--hint needs your program: --mine FILE")
        return show_lesson(lesson, plain, present, output, answers=answers)
    from dispatchviz.cli.input_source import alone
    from dispatchviz.cli.lesson_mine import show_mine

    alone("--mine", plain=plain, present=present, output=output, answers=answers)
    named = [name] if context.obj is None else ["--folder", str(context.obj), name]
    return show_mine(lesson, named, mine, hint or 0)


def _named(name: str, folder: Path | None) -> Lesson:
    """Find a lesson by name. Raise LessonError if there is none, with another meaning of the name if it has one; or if
    it has problems.
    """
    from dispatchviz.cli.other_meanings import with_meaning
    from dispatchviz.lessons.catalog import lesson_named
    from dispatchviz.lessons.problem import LessonError, WrongLessonError

    try:
        return lesson_named(name, folder)
    except WrongLessonError as error:
        from dispatchviz.cli.lesson_check import with_all_problems

        raise with_all_problems(error) from None
    except LessonError as error:
        raise LessonError(with_meaning(str(error), name, but="a lesson")) from None


@command.command("new")
@click.argument("file", type=click.Path(path_type=Path))
def new(file: Path) -> int:
    """Write the template of a lesson to FILE. An existing file is never overwritten."""
    from dispatchviz.cli.lesson_texts import write_new
    from dispatchviz.foundation.terminal_output import print_lines

    write_new(file)
    print_lines([f"Edit {file}, then run:", f"  dispatchviz lesson {file}", f"  dispatchviz lesson check {file}"])
    return 0


@command.command("check")
@click.option(
    "--engine",
    type=click.Choice(["model", "torch"]),
    default="model",
    help="Run the lessons on our model of PyTorch, or on the PyTorch that is installed here.",
)
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.pass_context
def check(context: click.Context, engine: EngineName, lessons: tuple[str, ...]) -> int:
    """Run lessons and report problems with their lines. LESSON is a name, a number or a file. The exit status is 1 if
    there are any problems.
    """
    from dispatchviz.cli.lesson_check import checked
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.lessons.catalog import all_lessons, file_of_lesson

    holds = True
    files = [file_of_lesson(name, context.obj) for name in lessons]
    for path in files or all_lessons(context.obj):
        lines, fine = checked(path, engine)
        print_lines(lines)
        holds &= fine
    return 0 if holds else 1


@command.command("results")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
def results(files: tuple[Path, ...]) -> int:
    """Sum up the answers of learners. FILE is a learner's file, or a folder with .json files."""
    from dispatchviz.cli.lesson_results import result_lines
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(result_lines(files, console))
    return 0
