"""``dispatchviz check`` for all stored programs at once: those of ``truth/programs``, ``examples`` and the pages.

``python -m scripts.check_stored FOLDER`` runs each program on the model and on the PyTorch of this environment, prints
each difference, and ends with a table of counts. The traces stay in the folder, so a second run continues where the
first one ended.

A new process for each of the 2,400 programs would take hours. So a program runs in a fork of a process that has loaded
its engine, and small programs first run in groups, one after the other in one recording. The programs that differ there
run once more on their own, and only that counts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from msgspec.structs import replace

from dispatchviz.cli.check_runs import ALIKE, PHRASES, check_cuda, check_model_has_all
from dispatchviz.cli.checked_run import seed
from dispatchviz.cli.script_run import run_script
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace as CoreTrace
from dispatchviz.core.record.trace_file import TraceError
from dispatchviz.explain.comparison.checked import Checked, checked_traces, keys_called, operators_that_differ
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shipped_examples import folder as examples
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.release_changes import release_changes
from dispatchviz.live.snapshot import Snapshot, from_installed, read_snapshot, write_snapshot
from dispatchviz.running.engine_choice.choice import Choice
from dispatchviz.running.engines import MODEL
from dispatchviz.running.program_source import Code, Script
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from dispatchviz.views.cards.check_text import check_lines
from dispatchviz.views.text.console import Console
from truth.programs import PROGRAMS

LIMIT = 120
"""The seconds after which a program is ended."""
EACH = 30
"""The number of programs in a group."""
ENDED = "except Exception as error:\n    print(type(error).__name__, error)\n"
SNAPSHOT = "registrations.json.gz"
DOCS = Path(__file__).parents[1] / "docs"

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Stored(NamedTuple):
    """A stored program."""

    name: str
    """``truth/view``, ``examples/errors/cat_of_nothing``, ``docs/why/1``."""
    script: Script

    @property
    def file(self) -> str:
        """The name of its trace."""
        return f"{self.name.replace('/', '.')}.dvtrace"

    @property
    def folder(self) -> str:
        """The folder that its name begins with."""
        return self.name.partition("/")[0]


@cache
def alone() -> tuple[Stored, ...]:
    """Return the examples that run on their own from the beginning."""
    return tuple(_examples(lambda name: not name.startswith("errors/")))


@cache
def together() -> dict[str, Stored]:
    """Return the programs that run in groups, by name."""
    found = [*_examples(lambda name: name.startswith("errors/")), *_on_pages()]
    found += [Stored(f"truth/{name}", Code(text)) for name, text in PROGRAMS.items()]
    return {program.name: program for program in found}


def _examples(wanted: Callable[[str], bool]) -> Iterator[Stored]:
    """Yield the examples that do not record themselves."""
    for path in sorted(examples().rglob("*.py")):
        name = path.relative_to(examples()).with_suffix("").as_posix()
        if wanted(name) and "import dispatchviz" not in path.read_text("utf-8"):
            yield Stored(f"examples/{name}", str(path))


def _on_pages() -> Iterator[Stored]:
    for page in sorted(DOCS.rglob("*.md")):
        for number, block in enumerate(_BLOCK.findall(page.read_text("utf-8")), 1):
            if re.search("^import torch", block, re.MULTILINE) and "dispatchviz" not in block:
                yield Stored(f"docs/{page.relative_to(DOCS).with_suffix('')}/{number}", Code(block))


class Group(NamedTuple):
    """Programs that run one after the other in one recording."""

    program: Stored
    lines: dict[str, range]
    """The lines of each program."""

    def at(self, line: int) -> Iterator[str]:
        """Yield the program that has a line."""
        return (name for name, lines in self.lines.items() if line in lines)


def groups() -> Iterator[Group]:
    """Yield all groups. An error ends one program and not its group."""
    programs = [*together().values()]
    for first in range(0, len(programs), EACH):
        yield grouped(f"groups/{first:04}", programs[first : first + EACH])


def grouped(name: str, programs: Iterable[Stored]) -> Group:
    """Return programs as one program."""
    text, lines = "", dict[str, range]()
    for one in programs:
        part = f"try:\n{indent(_text(one.script), '    ')}\n{ENDED}"
        begin = text.count("\n") + 1
        lines[one.name] = range(begin, begin + part.count("\n"))
        text += part
    return Group(Stored(name, Code(text)), lines)


def _text(script: Script) -> str:
    return script.text if isinstance(script, Code) else Path(str(script)).read_text("utf-8")


# -- the runs ---------------------------------------------------------------------------------------------------------


def record(engine: EngineName, folder: Path, programs: Iterable[Stored]) -> None:
    """Run programs on one engine. Each leaves a trace, or the error that prevented one."""
    if engine == "torch":
        write_snapshot(from_installed(InstalledPyTorch()), folder / SNAPSHOT)
    else:
        MODEL.prepare()
    for program in programs:
        save = folder / engine / program.file
        if not save.exists():
            process = os.fork()
            if not process:
                _run(program, engine, save)
            os.waitpid(process, 0)


def _run(program: Stored, engine: EngineName, save: Path) -> None:
    """Run a program in this process, which ends then."""
    try:
        signal.alarm(LIMIT)
        for number, name in enumerate((os.devnull, f"{save}.out", f"{save}.err")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            seed(engine)
            run_script(program.script, (), "auto", str(save), engine=Choice(engine))
            os.chdir("/")
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(0)


def both(folder: Path, what: Sequence[str]) -> None:
    """Run programs on both engines, side by side. ``what`` is ``first``, or the names of single programs."""
    runs = []
    for engine in ("model", "torch"):
        (folder / engine).mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "scripts.check_stored", str(folder), engine, *what]
        runs.append(subprocess.Popen(words, env={**ALIKE, **os.environ}))
    if [run for run in runs if run.wait()]:
        raise SystemExit("a run failed")


# -- the comparison ---------------------------------------------------------------------------------------------------


def differing(folder: Path) -> set[str]:
    """Return the programs that may differ, by the lines of their groups."""
    found = set[str]()
    for group in groups():
        try:
            checked = _checked(group.program, folder)
        except (TraceError, OSError):
            found |= {*group.lines}
            continue
        comparison = checked.comparison
        for one in (one for part in comparison.divergences for one in (part.main, *part.further)):
            for trace, step in ((comparison.first, one.first), (comparison.second, one.second)):
                found |= {name for line in _lines(trace, step) for name in group.at(line)}
        if checked.printed is not None and comparison.same:
            found |= {*group.lines}
    return found


def _lines(trace: CoreTrace, step: int | None) -> Iterator[int]:
    while step is not None:
        event = trace[step]
        if isinstance(event, ev.SourceLine):
            yield event.line
        step = event.parent


def _checked(program: Stored, folder: Path) -> Checked:
    return checked_traces(*(Trace.load(folder / engine / program.file) for engine in ("model", "torch")))


def compare(folder: Path) -> int:
    """Print the differences and the counts; return the number of differences."""
    snapshot, counts = read_snapshot(folder / SNAPSHOT), Counter[tuple[str, str]]()
    suspects = differing(folder)
    both(folder, sorted(suspects))
    counts.update((program.folder, SAME) for name, program in together().items() if name not in suspects)
    for program in (*alone(), *(together()[name] for name in sorted(suspects))):
        verdict, lines = verdict_of(program, folder, snapshot)
        counts[program.folder, verdict] += 1
        if lines:
            print(f"== {program.name}: {verdict}", *lines, sep="\n   ", flush=True)
    print(f"\nchecked on {snapshot.title}")
    for (part, verdict), number in sorted(counts.items()):
        print(f"{part:10} {verdict:24} {number:>6,}")
    return sum(number for (_, verdict), number in counts.items() if verdict in (REGISTERED, DIFFERENT))


SAME, NOT_RUN, INCOMPARABLE = "the same", "not run", "cannot be compared"
REGISTERED, DIFFERENT = "registered differently", "different"


def verdict_of(program: Stored, folder: Path, snapshot: Snapshot) -> tuple[str, list[str]]:
    """Return the verdict on a program and the lines that explain it."""
    try:
        found = _checked(program, folder)
    except (TraceError, OSError) as error:
        return NOT_RUN, [str(error)]
    if found.same:
        return SAME, []
    try:
        check_cuda(found.torch, found.model)
        check_model_has_all(found)
    except DispatchvizError as error:
        return INCOMPARABLE, [str(error)]
    changes = tuple(release_changes(snapshot, operators_that_differ(found), keys_called(found)))
    lines = check_lines(replace(found, release_changes=changes), PHRASES, Console(150, False), every=True)
    return REGISTERED if changes else DIFFERENT, list(lines)


def main() -> int:
    """Run all programs and compare; return 1 if something differs."""
    folder, *words = sys.argv[1:]
    if words:
        engine: EngineName = "torch" if words[0] == "torch" else "model"
        first = (*alone(), *(group.program for group in groups()))
        record(engine, Path(folder), first if words[1:] == ["first"] else map(together().__getitem__, words[1:]))
        return 0
    both(Path(folder).absolute(), ["first"])
    return 1 if compare(Path(folder).absolute()) else 0


if __name__ == "__main__":
    sys.exit(main())
