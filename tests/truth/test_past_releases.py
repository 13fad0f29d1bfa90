"""The file of older releases: its two readers, and the move of the model's release into it."""

from __future__ import annotations

import json

import pytest

from dispatchviz.core.table.past_registrations import known_releases, registrations_of
from dispatchviz.foundation.pytorch_release import MINOR
from truth import records
from truth.formats import past_registrations_file as past
from truth.formats.registrations_file import PATH as NEWEST
from truth.recorders import past_releases

pytestmark = pytest.mark.record("past_releases")


def test_file_is_written_as_it_was_read() -> None:
    text = records.text(past.PATH)
    assert past.joined(past.separate(text)) == text
    assert past.unpacked(records.packed(past.PATH, text)) == text


def test_package_reads_the_same_releases() -> None:
    assert known_releases() == (*reversed(past.read()), MINOR)
    for release, text in past.read().items():
        assert registrations_of(release).torch == past.release_of(text)
        assert len(registrations_of(release).lines) == len(text.partition("\n\n")[2].splitlines())


def test_an_older_release_takes_little_space() -> None:
    assert past.PATH.stat().st_size < 300_000
    assert past.PATH.stat().st_size < sum(map(len, past.read().values())) / 15


@pytest.mark.record("dispatch_tables")
def test_a_new_release_moves_the_models_among_the_older_ones() -> None:
    text, recorded = NEWEST.read_text("utf-8"), records.read("dispatch_tables")
    (path, texts), (tables, digests) = past_releases.with_release(text, recorded)
    assert (path, tables) == (past.PATH, past_releases.TABLES)
    assert past.separate(texts) == {MINOR: text, **past.read()}
    assert list(past.separate(texts)) == [MINOR, *past.read()]
    found = json.loads(digests)
    moved = found.pop(MINOR)
    assert found == records.read("past_releases")
    assert (moved["torch"], moved["cells"]) == (recorded["torch"], recorded["cells"])
    assert moved["tables"].startswith(next(iter(recorded["digests"].values()))[: past_releases.DIGITS])
    assert past_releases.differences(path, records.text(path), texts) == [MINOR]
    assert past_releases.differences(tables, records.text(tables), digests) == [MINOR]


def test_a_release_that_is_recorded_again_keeps_its_place() -> None:
    changed = past.read()["2.9"].replace("torch\t2.9.0\n", "torch\t2.9.1\n")
    recorded = {"torch": "2.9.1", "build": "cuda", "cells": 1, "digests": {"aten::add": "0123456789ab"}}
    (_, texts), (_, digests) = past_releases.with_release(changed, recorded)
    assert list(past.separate(texts)) == list(past.read())
    assert past.separate(texts)["2.9"] == changed
    assert json.loads(digests)["2.9"]["tables"] == "012345"
    assert past_releases.differences(past.PATH, records.text(past.PATH), texts) == ["2.9"]
