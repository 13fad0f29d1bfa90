"""A case: a number, the file that it represents, and the outcome of reading it."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzzing import seeds
from tests.fuzzing.mutations import damaged
from tests.fuzzing.reading import read

ODD = 0.003
"""The share of cases that are not files: a folder, a pipe, a device, something huge."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case."""

    case: int
    how: str
    """``whole``, ``with a notice``, ``refused``, or ``raised``."""
    error: str = ""
    """The traceback, if an error was raised."""

    @property
    def place(self) -> str:
        """The last line of the traceback and its place, which are the same for two cases of one mistake."""
        lines = [line.strip() for line in self.error.splitlines()]
        frames = [line for line in lines if line.startswith("File ")]
        frames = [line for line in frames if "dispatchviz" in line] or frames
        where = f"{frames[-1] if frames else '?'}: {lines[-1][:160] if lines else ''}"
        return re.sub(r"(?<!line )\b(0x\w+|-?\d+)\b", "N", where)


class Cases:
    """The cases of one seed, in a folder of their own."""

    def __init__(self, folder: Path, traces: Sequence[bytes], begin: int = 15) -> None:
        self._folder, self._traces, self._begin = folder, traces, begin
        (folder / "output").mkdir(exist_ok=True)

    def outcome(self, case: int, watch: Callable[[], AbstractContextManager[object]] = nullcontext) -> Outcome:
        """Create the file, and read it under the watch."""
        random = Random(self._begin * 1_000_003 + case)
        with self.file(random) as path:
            try:
                with watch():
                    how = read(path, random, self._folder / "output")
            except Exception:
                return Outcome(case, "raised", traceback.format_exc())
            return Outcome(case, how)

    @contextmanager
    def file(self, random: Random) -> Iterator[Path]:
        """Create the file of a case."""
        if random.random() < ODD:
            path = self._folder / f"odd{random.choice(('.jsonl', '.jsonl.gz', '.dvtrace'))}"
            path = random.choice(_ODD)(path) or path
        else:
            suffix, raw = damaged(self._traces, min(len(seeds.SMALL), len(self._traces)), random)
            path = self._folder / f"case{suffix}"
            path.write_bytes(raw)
            del raw  # its memory is not the reader's
        try:
            yield path
        finally:
            if path.parent == self._folder:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(b'{"format":2,"cuda":"","program":"x.py"}\n')
        stream.truncate(20 << 30)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _picture(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)


def _device(name: str) -> Callable[[Path], Path]:
    def linked(path: Path) -> Path:
        path.symlink_to(name)
        return path

    return linked


_ODD: Sequence[Callable[[Path], Path | None]] = (
    _empty,
    _pipe,
    _sparse,
    _loop,
    _picture,
    Path.mkdir,
    _device("/dev/zero"),
    _device("/dev/null"),
    _device("/dev/urandom"),
    lambda path: path.with_name("missing.jsonl"),
)
