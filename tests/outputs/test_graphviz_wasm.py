"""The compiled Graphviz on disk: it is used if it can be trusted, and made again otherwise; neither is an error."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from dispatchviz.outputs.picture import graphviz_wasm as module

DOT = "digraph { a -> b }"

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="file permissions work differently there")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dispatchviz" / "compiled"


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows whenever the program is compiled."""
    sizes: list[int] = []
    original = wasmtime.Module.__init__

    def counted(self: Any, engine: Any, program: bytes) -> None:
        sizes.append(len(program))
        original(self, engine, program)

    monkeypatch.setattr(wasmtime.Module, "__init__", counted)
    return sizes


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_it_is_compiled_once(folder: Path, compiling: list[int]) -> None:
    first, second = module.layout(DOT), module.layout(DOT)
    assert first == second
    assert b"<svg" in first
    assert len(compiling) == 1
    assert module.trusted(only_file(folder)) is not None


@on_posix
def test_kept_files_are_private_to_the_user(folder: Path) -> None:
    module.layout(DOT)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600


def signed(code: bytes) -> bytes:
    return hashlib.sha256(code).digest() + code


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other machine"])
def test_a_damaged_file_is_made_again(folder: Path, compiling: list[int], damage: str) -> None:
    module.layout(DOT)
    path = only_file(folder)
    whole = path.read_bytes()
    flipped = bytes([*whole[:5000], whole[5000] ^ 1, *whole[5001:]])
    path.write_bytes({"cut": whole[:-1], "flipped": flipped, "empty": b"", "other machine": signed(b"ELF")}[damage])
    assert b"<svg" in module.layout(DOT)
    assert len(compiling) == 2
    assert path.read_bytes() == whole


@on_posix
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_not_run(folder: Path, compiling: list[int], mode: int) -> None:
    module.layout(DOT)
    only_file(folder).chmod(mode)
    module.layout(DOT)
    assert len(compiling) == 2
    assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600, "replaced by one of our own"


@on_posix
def test_a_folder_that_others_can_write_is_not_trusted(folder: Path, compiling: list[int]) -> None:
    module.layout(DOT)
    folder.chmod(0o777)
    module.layout(DOT)
    assert len(compiling) == 2


@on_posix
def test_another_users_file_is_not_run(folder: Path, compiling: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    module.layout(DOT)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert module.trusted(only_file(folder)) is None


@on_posix
def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    module.layout(DOT)
    path = only_file(folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert module.trusted(path) is None


def test_missing_cache_folder_does_not_prevent_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert b"<svg" in module.layout(DOT)

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(module, "cache_folder", no_home)
    assert b"<svg" in module.layout(DOT)


def test_old_files_are_deleted(folder: Path) -> None:
    folder.mkdir(parents=True)
    for age in range(6):
        old = folder / f"graphviz-{age}.bin"
        old.touch()
        os.utime(old, (age, age))
    module.layout(DOT)
    names = {path.name for path in folder.iterdir()}
    assert len(names) == module.KEPT
    assert "graphviz-5.bin" in names


def test_another_runtime_has_a_file_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {module.kept_file(b"program"), module.kept_file(b"another program")}
    monkeypatch.setattr("importlib.metadata.version", lambda package: "0.0")
    names.add(module.kept_file(b"program"))
    assert len(names) == 3


def test_error_has_the_text_of_graphviz() -> None:
    with pytest.raises(module.LayoutError, match="Failed to parse DOT source"):
        module.layout("digraph {")
