"""The stored registrations, tables and keys of the installed release are PyTorch's own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.explain.cells.computed_table import MISSING, SKIPPED
from dispatchviz.explain.cells.releases.release import Release, all_releases
from dispatchviz.explain.cells.releases.release_key_cards import release_key
from dispatchviz.live.installed_torch import installed_torch
from tests.amounts import some
from truth.formats import past_registrations_file, registrations_file

pytestmark = [pytest.mark.torch, pytest.mark.record("past_releases")]

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json
from truth.recorders import dispatch_tables as d
keys = {name: d.C.DispatchKey(number) for number, name in enumerate(d.numbers())}
print(json.dumps({
    "build": d.BUILD,
    "text": d.text(d.contents()),
    "tables": {name: d.cells(name) for name in d.names()},
    "raw": {name: d.C.DispatchKeySet(key).raw_repr() for name, key in keys.items()},
    "full": d.C._dispatch_keyset_full().raw_repr(),
}))
"""


@cache
def live() -> Any:
    """Return what the installed PyTorch says, in a process in which nothing but torch was imported."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def release() -> Release:
    """Return the stored release that is installed."""
    number = installed_torch().__version__.partition("+")[0]
    found = next((release for release in all_releases() if release.number == number), None)
    if found is None:
        pytest.skip(f"PyTorch {number} is not one of the releases that are stored")
    return found


@pytest.mark.long
def test_stored_registrations_are_pytorchs(release: Release) -> None:
    """A CPU build cannot measure those of a CUDA build, so they are not compared there."""
    stored, found = (registrations_file.parsed(text) for text in (release_text(release), live()["text"]))
    if live()["build"] == "cpu":
        stored, found = (
            one._replace(operators=[each._replace(cuda=[]) for each in one.operators]) for one in (stored, found)
        )
    assert found == stored


def release_text(release: Release) -> str:
    older = past_registrations_file.read()
    return older[release.minor] if release.minor in older else registrations_file.PATH.read_text("utf-8")


@pytest.mark.long
def test_every_entry_of_every_table_is_pytorchs(release: Release) -> None:
    """The kernel, the reason, and whether calls skip it are compared for all keys of the release."""
    build, tables = live()["build"], live()["tables"]
    registry = release.registry(build)
    assert [*tables] == [*release.text.lines]
    for name in some([*tables], 4):
        rows = [row for row in release.rows(registry.operators[name], build) if row.state != MISSING]
        assert {row.key: [row.registered, row.reason, row.state == SKIPPED] for row in rows} == tables[name], name


@pytest.mark.long
def test_bits_of_every_key_are_pytorchs(release: Release) -> None:
    names = {*release.keys, *release.layout.keys}
    assert len(names) > 130
    assert {name: release_key(release, name, "cpu").raw for name in names} == {
        name: live()["raw"][name] for name in names if name != "Undefined"
    } | {"Undefined": 0}
    assert (1 << len(release.layout.backends) + len(release.layout.keys)) - 1 == live()["full"]
