"""The tests themselves: they write into their own folders, and the gate reaches each of them in some round."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import amounts
from tests.amounts import TURNS, not_in_turn
from tests.own_folders import ROOT, left_as_it_is


def test_a_new_file_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"own folder: storage\.pt"), left_as_it_is(tmp_path):
        (tmp_path / "storage.pt").write_bytes(b"")


def test_a_file_that_is_written_again_is_found(tmp_path: Path) -> None:
    (tmp_path / "storage.pt").write_bytes(b"")
    os.utime(tmp_path / "storage.pt", ns=(0, 0))
    with pytest.raises(AssertionError, match=r"own folder: storage\.pt"), left_as_it_is(tmp_path):
        (tmp_path / "storage.pt").write_bytes(b"")


def test_caches_are_not_reported(tmp_path: Path) -> None:
    with left_as_it_is(tmp_path):
        (tmp_path / ".pytest_cache").mkdir()
        (tmp_path / "build").mkdir()


def test_every_test_is_checked(request: pytest.FixtureRequest) -> None:
    assert "writes_into_own_folders" in request.fixturenames


def test_home_folder_is_not_the_developers(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Path.home().is_relative_to(tmp_path_factory.getbasetemp())


def test_nothing_in_the_root_was_left_by_a_test() -> None:
    """Committed files there are listed by name; a new file must be added to the list."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = {name for name in listed.splitlines() if "/" not in name and not name.startswith(".")}
    pages = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
    expected = pages | {"Makefile", "hatch_build.py", "pyproject.toml"}
    assert found in (expected, set())  # a copy without git has no list


NAMES = [f"{place}test_{at}" for place in TURNS for at in range(4)] + ["tests/core/test_keys.py::test_cpu"]


def waiting(turn: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(amounts, "code_turn", lambda: turn)
    return not_in_turn(NAMES)


def test_waiting_test_runs_in_a_later_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amounts, "THOROUGH", False)
    each = [waiting(turn, monkeypatch) for turn in range(max(TURNS.values()))]
    assert all(each)
    assert not set.intersection(*each)
    assert not set.union(*each) - {name for name in NAMES if name.startswith(tuple(TURNS))}


def test_thorough_run_has_no_waiting_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amounts, "THOROUGH", True)
    assert waiting(1, monkeypatch) == set()
