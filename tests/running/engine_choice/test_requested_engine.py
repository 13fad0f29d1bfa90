"""The engine that a user asks for: the option, the environment, the settings of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.engine_choice.requested_engine import VARIABLE, requested_engine


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def settings(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)


def test_without_settings_the_engine_is_chosen_automatically(tmp_path: Path) -> None:
    settings(tmp_path, "[project]\nname = 'mine'\ndependencies = ['dispatchviz']\n")
    assert requested_engine(None, str(tmp_path)) == "auto"


def test_the_option_comes_first_then_the_variable_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(tmp_path, "[tool.dispatchviz]\nengine = 'model'\n")
    assert requested_engine(None, str(tmp_path)) == "model"
    monkeypatch.setenv(VARIABLE, "torch")
    assert requested_engine(None, str(tmp_path)) == "torch"
    assert requested_engine("auto", str(tmp_path)) == "auto"
    monkeypatch.setenv(VARIABLE, "")
    assert requested_engine(None, str(tmp_path)) == "model"


def test_the_nearest_file_above_the_script_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(tmp_path, "[tool.dispatchviz]\nengine = 'torch'\n")
    settings(tmp_path / "a" / "b", "[project]\nname = 'other'\n")
    assert requested_engine(None, str(tmp_path / "a")) == "torch"
    assert requested_engine(None, str(tmp_path / "a" / "b" / "c")) == "auto"
    monkeypatch.chdir(tmp_path / "a")
    assert requested_engine(None, "") == "torch"


BAD = {
    "an engine that does not exist": "[tool.dispatchviz]\nengine = 'moon'\n",
    "a number": "[tool.dispatchviz]\nengine = 3\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_in_the_file_is_reported_with_its_place(name: str, tmp_path: Path) -> None:
    settings(tmp_path, BAD[name])
    with pytest.raises(DispatchvizError) as caught:
        requested_engine(None, str(tmp_path))
    assert str(caught.value).startswith(f"{tmp_path / 'pyproject.toml'}: [tool.dispatchviz] engine = ")
    assert str(caught.value).endswith(": the engines are auto, model and torch")


def test_a_bad_variable_is_reported_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "moon")
    with pytest.raises(DispatchvizError, match=r"^DISPATCHVIZ_ENGINE=moon: the engines are auto, model and torch$"):
        requested_engine(None, str(tmp_path))


@pytest.mark.parametrize("text", ["[tool.dispatchviz\n", "tool.dispatchviz = 3\n"])
def test_a_broken_file_is_reported(text: str, tmp_path: Path) -> None:
    settings(tmp_path, text)
    with pytest.raises(DispatchvizError, match=r"pyproject\.toml"):
        requested_engine(None, str(tmp_path))


def test_a_broken_file_that_does_not_mention_dispatchviz_is_ignored(tmp_path: Path) -> None:
    settings(tmp_path, "[project\n")
    assert requested_engine(None, str(tmp_path)) == "auto"
