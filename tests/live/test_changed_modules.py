"""Modules that are changed as soon as they are imported."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from dispatchviz.live.changed_modules import modules_changed

NAME = "changed_by_a_test"


@pytest.fixture(autouse=True)
def module_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{NAME}.py").write_text("word = 'own'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def change(module: ModuleType) -> None:
    setattr(module, "word", f"{vars(module)['word']}, changed")  # noqa: B010


def test_module_is_changed_when_it_is_imported_even_if_the_program_has_looked_for_it() -> None:
    finders = sys.meta_path.copy()
    with modules_changed([NAME], change):
        assert find_spec(NAME) is not None
        module = importlib.import_module(NAME)
        assert vars(module)["word"] == "own, changed"
        assert type(module.__loader__).__module__ != modules_changed.__module__
        assert module.__spec__ is not None
        assert module.__spec__.loader is module.__loader__
    assert sys.meta_path == finders


def test_imported_module_is_changed_at_once() -> None:
    module = importlib.import_module(NAME)
    with modules_changed([NAME], change):
        assert vars(module)["word"] == "own, changed"


def test_module_that_does_not_exist_stays_unknown() -> None:
    with modules_changed(["no_such_module_at_all"], change), pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module_at_all")
