"""The names of processes and of their trace files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dispatchviz.running.process.family_files import FamilyFile, Lineage, files_of_run, is_one_of_several, of_process


def family(base: Path, name: str = "main", parent: int = 1) -> FamilyFile:
    return FamilyFile(Lineage(str(base), name, parent, "launch"))


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)


def test_first_process_has_the_file_that_was_asked_for(tmp_path: Path) -> None:
    file = FamilyFile(Lineage(str(tmp_path / "train.dvtrace")))
    assert (file.name, file.path()) == ("main", str(tmp_path / "train.dvtrace"))


def test_child_is_named_after_its_rank_as_soon_as_it_is_known(tmp_path: Path) -> None:
    file = family(tmp_path / "train.dvtrace")
    assert file.name == f"process{os.getpid()}"
    file.rank = 1
    assert (file.name, file.path()) == ("rank1", str(tmp_path / "train.rank1.dvtrace"))
    assert file.process.name == "rank1"


def test_rank_of_torchrun_is_known_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert is_one_of_several()
    assert FamilyFile(Lineage(str(tmp_path / "train.dvtrace"))).path() == str(tmp_path / "train.rank3.dvtrace")


def test_child_of_a_rank_has_the_name_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")  # children of a rank inherit it
    assert family(tmp_path / "train.dvtrace", "rank3").name == f"rank3.process{os.getpid()}"
    assert family(tmp_path / "train.dvtrace", "rank3").rank == 3


def test_second_process_of_a_name_gets_a_number(tmp_path: Path) -> None:
    file = family(tmp_path / "train.dvtrace")
    file.rank = 0
    (tmp_path / "train.rank0.dvtrace").touch()
    assert file.path() == str(tmp_path / "train.rank0-2.dvtrace")
    assert file.process.name == "rank0-2"


def test_traces_of_the_last_run_are_removed_and_no_others(tmp_path: Path) -> None:
    base = tmp_path / "train.dvtrace"
    last = ["train.rank0.dvtrace", "train.rank10.worker1-2.dvtrace", "train.process7.part-999999999.dvtrace"]
    others = ["train.dvtrace", "train.best.dvtrace", "train2.rank0.dvtrace", "train.rank0.svg"]
    for name in (*last, *others):
        (tmp_path / name).touch()
    FamilyFile(Lineage(str(base))).remove_last_run()
    assert sorted(os.listdir(tmp_path)) == sorted(others)


def test_rank_removes_only_its_own_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    for name in ("train.rank0.dvtrace", "train.rank1.worker0.dvtrace", "train.rank10.dvtrace"):
        (tmp_path / name).touch()
    FamilyFile(Lineage(str(tmp_path / "train.dvtrace"))).remove_last_run()
    assert sorted(os.listdir(tmp_path)) == ["train.rank0.dvtrace", "train.rank10.dvtrace"]


def test_files_of_a_run_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = ["train.dvtrace", "train.rank2.dvtrace", "train.rank10.dvtrace"]
    for name in (*names, "train.best.dvtrace"):
        (tmp_path / name).touch()
    assert files_of_run(str(tmp_path / "train.dvtrace")) == [str(tmp_path / name) for name in names]


def test_process_comes_before_the_suffix() -> None:
    assert of_process("out/graph.svg", "rank1") == "out/graph.rank1.svg"
    assert of_process("out/graph.svg", "") == "out/graph.svg"
