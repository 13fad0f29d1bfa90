"""PyTorch's recorded answers, one file each, and the functions that read them.

Programs are read one by one when they are looked up (``programs()``), from one text file for each subject
(``truth/formats/program_records.py``). Everything else is JSON. Large files that change only with PyTorch's releases
are compressed. ``python -m truth.show NAME`` shows any record as text.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from truth.formats.program_records import Record, RecordFile
from truth.programs import SUBJECTS

HERE = Path(__file__).parent


def text(path: Path) -> str:
    """The text of a record's file, compressed or not."""
    written = path.read_bytes()
    if path.suffix == ".zst":
        from truth.formats import past_registrations_file  # needs a library that a plain Python lacks

        return past_registrations_file.unpacked(written)
    return (gzip.decompress(written) if path.suffix == ".gz" else written).decode()


def packed(path: Path, text: str) -> bytes:
    """The bytes of a record's file. They are the same in every run."""
    if path.suffix == ".zst":
        from truth.formats import past_registrations_file

        return past_registrations_file.packed(text)
    return gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode()


def file(name: str) -> Path:
    """The file of a record or of a part of it. FileNotFoundError if there is none."""
    for suffix in ("txt", "txt.gz", "json", "json.gz"):
        if (path := HERE / f"{name}.{suffix}").is_file():
            return path
    raise FileNotFoundError(f"there is no record {name}")


def read(name: str) -> Any:
    """Return a JSON record."""
    return json.loads(text(file(name)))


def read_programs(name: str) -> RecordFile:
    """Return the program records of a file."""
    return RecordFile(text(file(name)))


class ProgramRecords(Mapping[str, Record]):
    """The records of all programs by name; files are opened and records parsed when they are looked up."""

    def __init__(self) -> None:
        self.subjects = {name: subject for subject, programs in SUBJECTS.items() for name in programs}
        """The file of each program, by the program's name."""
        self._file = functools.cache(lambda subject: read_programs(f"programs/{subject}"))

    def __getitem__(self, name: str) -> Record:
        return self._file(self.subjects[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.subjects)

    def __len__(self) -> int:
        return len(self.subjects)


@functools.cache
def programs() -> ProgramRecords:
    """Records of the programs of ``truth/programs``."""
    return ProgramRecords()


@functools.cache
def training_loop(name: str) -> Record:
    """Output and dispatch steps of a program of ``examples/training``."""
    return read_programs(f"training/{name}")[name]


def training_loops() -> list[str]:
    """The names of the recorded training loops."""
    return sorted(path.name.partition(".")[0] for path in (HERE / "training").iterdir())
