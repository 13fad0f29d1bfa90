"""List what a release of PyTorch changed in what we have, in the order in which to follow it.

    python -m truth.follow 2.14.1                   every subject; takes half an hour
    python -m truth.follow 2.14.1 keys yaml_entries  some subjects

Run it in an environment with that PyTorch. Exit status 1 if something is left to do, 0 if not, 2 if the release is not
the installed one.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap

from truth.following import SUBJECTS, Left

ROOT = Path(__file__).parents[1]
LINES = 40
"""The number of lines after which the names of one thing are cut."""


def found(subject: str) -> list[Left]:
    """The things to do for a subject, found in a process of its own."""
    ask = f"import json; from truth.following import {subject} as s; print(json.dumps([*s.left()]))"
    command = [sys.executable, "-W", "ignore", "-c", ask]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        error = run.stderr.strip().splitlines()[-1:]
        return [Left("the comparison fails", error, f"correct truth/following/{subject}.py")]

    return [Left(*one) for one in json.loads(run.stdout.splitlines()[-1])]


def section(number: int, title: str, left: Iterable[Left]) -> Iterator[str]:
    """The lines of a subject."""
    left = [*left]
    yield f"{number}. {title}: {count(left) or 'nothing left to do'}"
    for what, names, then in left:
        yield f"   {what}: {len(names)}"
        lines = wrap(", ".join(names), 120, initial_indent=" " * 6, subsequent_indent=" " * 6, break_long_words=False)
        yield from [*lines[:LINES], *["      ..."] * (len(lines) > LINES)]
        yield f"      -> {then}"
    yield ""


def count(left: Iterable[Left]) -> int:
    """The number of things that a release changed."""
    return sum(len(one.names) for one in left)


def installed() -> str | None:
    """The release of the installed PyTorch; None without one."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="truth.follow", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("release")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.subjects if name not in SUBJECTS]:
        parser.error(f"no subject is called {', '.join(unknown)}. Subjects: {', '.join(SUBJECTS)}")
    if installed() != options.release:
        here = f"PyTorch {installed()}" if installed() else "no PyTorch"
        print(f"truth.follow: {here} is installed for {sys.executable}, not {options.release}", file=sys.stderr)
        return 2
    total = 0
    for number, (subject, title) in enumerate(SUBJECTS.items(), 1):
        if not options.subjects or subject in options.subjects:
            left = found(subject)
            total += count(left)
            print(*section(number, title, left), sep="\n", flush=True)
    print(f"{total:,} left to do for PyTorch {options.release}" if total else "nothing is left to do")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
