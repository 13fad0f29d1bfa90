"""``dispatchviz serve [LESSON or SCRIPT or TRACE]...``."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatchviz.explain.sentences.statement import number_of_steps
from dispatchviz.foundation.errors import DispatchvizError

if TYPE_CHECKING:
    from dispatchviz.lessons.lesson_file import Lesson
    from dispatchviz.serving.offer import Offered

LOOPBACK = "127.0.0.1"

EVERYWHERE = ("0.0.0.0", "::")
"""Addresses that listen on all networks of a machine."""

SESSION = "dispatchviz.cli.served_session"
"""The module that the process of a session runs."""


@click.command("serve")
@click.argument("offered", nargs=-1, metavar="[LESSON or SCRIPT or TRACE]...")
@click.option("--folder", type=click.Path(path_type=Path), metavar="DIR", help="Use your own lessons, by name.")
@click.option(
    "--answers", type=click.Path(path_type=Path), metavar="DIR", help="Keep the answers to the lessons there."
)
@click.option("--host", default=LOOPBACK, metavar="ADDRESS", help="Listen at this address. Default: this machine only.")
@click.option(
    "--port",
    default=8000,
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Listen at this port. Default: 8000; 0: a free one.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Accept another name in browsers' addresses, such as a proxy's.",
)
@click.option("--list", "only_list", is_flag=True, help="List what would be offered; serve nothing.")
def command(
    offered: tuple[str, ...],
    folder: Path | None,
    answers: Path | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    only_list: bool,
) -> int:
    """Serve lessons, programs or traces to a classroom. Each browser gets a home screen with the things named here, by
    default the lessons. Ctrl+C ends the server and all programs that run in it.

    The server listens on this machine only, unless --host names another address (--host 0.0.0.0: everywhere). A reader
    needs the printed address, which contains a token, and can open only what is offered. This needs textual-serve.

    \b
    Examples:
      dispatchviz serve --list
      dispatchviz serve --list forum examples/no_grad.py
    """
    from dispatchviz.foundation.terminal_output import print_lines

    files = tuple(offer_of(offered, folder))
    if only_list:
        print_lines(f"{each.kind:<6}  {each.name}  {each.path}" for each in files)
        return 0
    _check(names)
    return _serve(files, answers, host, port, names)


def offer_of(words: Sequence[str], folder: Path | None) -> Iterator[Offered]:
    """Yield the offered files, each once. Raise DispatchvizError for a word that names no lesson, script or trace."""
    from dispatchviz.lessons.catalog import all_lessons

    named = words or [str(path) for path in all_lessons(folder)]
    yield from {each.path: each for each in (_offered(word, folder) for word in named)}.values()


def _offered(word: str, folder: Path | None) -> Offered:
    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.foundation.shipped_examples import alternatives, located
    from dispatchviz.lessons.catalog import lesson_named
    from dispatchviz.serving.offer import Kind, Offered

    path = Path(located(word))
    if word.isdecimal() or not (path.is_file() or path.suffix or "/" in word):
        lesson = lesson_named(word, folder)
        return _lesson(lesson)
    if not path.is_file():
        raise DispatchvizError(f"there is no file {word}{alternatives(word)}")
    if path.suffix == ".py":
        return _program(path)
    trace = trace_in(str(path))
    if trace is None:
        raise DispatchvizError(f"{word} is not a lesson, a .py file or a trace: nothing else can be offered")
    return Offered(
        Kind.TRACE, str(path), path.name.partition(".")[0], f"{number_of_steps(len(trace))} · {trace.header.program}"
    )


def _program(path: Path) -> Offered:
    """Offer a file as a lesson if it has marks of one, else as a script. Raise LessonError for a lesson that cannot be
    read.
    """
    from dispatchviz.lessons.catalog import has_marks
    from dispatchviz.lessons.lesson_file import read_lesson
    from dispatchviz.serving.offer import Kind, Offered

    if not has_marks(path):
        return Offered(Kind.SCRIPT, str(path), path.stem)
    return _lesson(read_lesson(path))


def _lesson(lesson: Lesson) -> Offered:
    """Offer a lesson; a shipped one by its name, not by its place in the installed package."""
    from dispatchviz.foundation.shipped_examples import script_of
    from dispatchviz.serving.offer import Kind, Offered

    script = script_of(lesson.path)
    return Offered(Kind.LESSON, script, lesson.name, lesson.title)


def _check(names: Sequence[str]) -> None:
    """Raise DispatchvizError if this machine cannot serve, or a name is not a host."""
    from dispatchviz.serving.names import is_name

    for name in names:
        if not is_name(name):
            raise DispatchvizError(
                f"--name takes a host such as class.example.org or class.example.org:8443, not {name!r}"
            )
    if sys.platform == "win32":
        raise DispatchvizError("serve needs a Unix terminal for each session, which Windows lacks: use WSL")
    if find_spec("textual_serve") is None:
        raise DispatchvizError("serve needs textual-serve, which is not installed: pip install 'dispatchviz[serve]'")


def _serve(files: tuple[Offered, ...], answers: Path | None, host: str, port: int, names: Sequence[str]) -> int:
    import asyncio

    from dispatchviz.foundation.child_processes import running
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.serving.offer import Offer
    from dispatchviz.serving.server import ClassroomServer

    kept = _AnswerFiles(answers) if answers is not None else None

    def session(number: int) -> list[str]:
        return running(SESSION, [Offer(files, str(kept.next()) if kept else "").encoded()])

    server = ClassroomServer(session, names)

    def announce(bound: int) -> None:
        print_lines(_announcement(files, host, bound, server.token, answers))

    try:
        asyncio.run(server.serve(host, port, announce))
    finally:
        if kept is not None:
            kept.end()
    return 0


def _announcement(files: Sequence[Offered], host: str, port: int, token: str, answers: Path | None) -> Iterator[str]:
    """Yield the lines for the teacher: the offer, the folder of the answers, the address and who can reach it."""
    yield f"Offered: {', '.join(each.name for each in files)}"
    if answers is not None:
        yield f"Answers are kept in {answers}: dispatchviz lesson results {answers}"
    name = socket.gethostname() if host in EVERYWHERE else host
    yield f"http://{f'[{name}]' if ':' in name else name}:{port}/{token}/"
    where = "on this machine" if host == LOOPBACK else f"wherever {name} is reached"
    yield f"Everyone with this address can open what is offered, {where}. Ctrl+C ends the server."


class _AnswerFiles:
    """Names for the files of learners. Each is used once and never names an existing file.

    Several servers may keep answers in one folder, so a hidden file beside each name marks it as taken.
    """

    def __init__(self, folder: Path) -> None:
        """Create the folder. Raise DispatchvizError if nothing can be written there."""
        self._folder, self._number = folder.absolute(), 0
        self._given: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DispatchvizError(f"cannot keep answers in {folder}: {error.strerror or error}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise DispatchvizError(f"cannot keep answers in {folder}: it cannot be written to")

    def next(self) -> Path:
        """Return the file for the next learner."""
        while True:
            self._number += 1
            file = self._folder / f"learner-{self._number:02}.json"
            if not file.exists() and self._is_free(file.with_name(f".{file.stem}")):
                return file

    def _is_free(self, sign: Path) -> bool:
        try:
            sign.touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:
            return True  # the session reports that nothing can be written
        self._given.append(sign)
        return True

    def end(self) -> None:
        """Remove the hidden files."""
        for sign in self._given:
            with suppress(OSError):
                sign.unlink()
