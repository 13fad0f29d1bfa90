"""The registrations of an installed PyTorch that is older than the model's release, and digests of its tables.

Its registrations take their place among those of other releases, in two files:

    dispatchviz/core/native/past_registrations.txt.zst   package data: the registrations of each older release
    truth/records/past_releases.json.gz                  digests of the registrations and of every operator's table

Only a CUDA build, which needs no GPU for this, has the registrations of both builds.
``dispatch_tables`` moves the model's release here when it records the next one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truth import records
from truth.formats import past_registrations_file as past
from truth.formats.json_text import json_text
from truth.formats.registrations_file import PATH as NEWEST

TABLES = records.HERE / "past_releases.json.gz"
DIGITS = 6
"""The digits that are kept of the digest of a table."""


def digests_of(text: str, recorded: dict[str, Any]) -> dict[str, Any]:
    """The digests of a release: of its registrations, and of its tables from what ``dispatch_tables`` records."""
    return {
        **{name: recorded[name] for name in ("torch", "build", "cells")},
        "registrations": hashlib.sha256(text.encode()).hexdigest(),
        "tables": "".join(digest[:DIGITS] for digest in recorded["digests"].values()),
    }


def with_release(text: str, recorded: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield both files and their texts, with a release in its place among the others."""
    release = past.minor(past.release_of(text))
    stored = records.read("past_releases") if TABLES.exists() else {}
    tables = {**stored, release: digests_of(text, recorded)}
    yield past.PATH, past.joined({**past.read(), release: text})
    yield TABLES, json_text(dict(sorted(tables.items(), key=lambda item: [*map(int, item[0].split("."))])))


def files(part: str) -> Iterator[tuple[Path, str]]:
    """Both files and their texts. Raise ValueError for the model's release, and for a CPU build."""
    from truth.recorders import dispatch_tables

    if past.minor(dispatch_tables.RELEASE) == past.minor(past.release_of(NEWEST.read_text("utf-8"))):
        raise ValueError("this is the release of the model: record dispatch_tables")
    if dispatch_tables.BUILD == "cpu":
        raise ValueError("a CPU build lacks the registrations of CUDA builds")
    yield from with_release(dispatch_tables.text(dispatch_tables.contents()), dispatch_tables.test_data())


def differences(path: Path, old: str, new: str) -> list[str]:
    """The releases whose part differs."""
    read = past.separate if path == past.PATH else json.loads
    before, after = read(old), read(new)
    return [release for release in {**after, **before} if before.get(release) != after.get(release)]
