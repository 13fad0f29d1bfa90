"""Tests write into folders of their own only: the check that every test passes through finds those that do not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.own_folders import ROOT, left_as_it_is


def test_a_new_file_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"own folder: storage\.pt"), left_as_it_is(tmp_path):
        (tmp_path / "storage.pt").write_bytes(b"")


def test_a_file_that_is_written_again_is_found(tmp_path: Path) -> None:
    (tmp_path / "storage.pt").write_bytes(b"")
    os.utime(tmp_path / "storage.pt", ns=(0, 0))
    with pytest.raises(AssertionError, match=r"own folder: storage\.pt"), left_as_it_is(tmp_path):
        (tmp_path / "storage.pt").write_bytes(b"")


def test_caches_are_no_finding(tmp_path: Path) -> None:
    with left_as_it_is(tmp_path):
        (tmp_path / ".pytest_cache").mkdir()
        (tmp_path / "build").mkdir()


def test_every_test_is_checked(request: pytest.FixtureRequest) -> None:
    assert "writes_into_own_folders" in request.fixturenames


def test_the_home_folder_is_none_of_the_developers(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Path.home().is_relative_to(tmp_path_factory.getbasetemp())


def test_nothing_in_the_root_was_left_by_a_test() -> None:
    """What is committed there is known by name; who adds a file names it here."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = {name for name in listed.splitlines() if "/" not in name and not name.startswith(".")}
    expected = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"}
    assert found in (expected, set())  # a copy without git has no list
