"""The installed PyTorch: it is found whichever module ``import torch`` means, and errors name the problem."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dispatchviz.cli import main
from dispatchviz.live.installed_torch import (
    NEWEST,
    InstalledTorchError,
    accelerator,
    build_text,
    installed_torch,
    release,
)
from dispatchviz.live.snapshot import read_snapshot
from dispatchviz.running.import_hook import torch_is_the_model

INIT = {
    "nothing": ("", "`import torch` finds .*, another module"),
    "old": (
        "__version__ = '2.4.1'\nclass _C: _dispatch_dump = None",
        "needs PyTorch 2.6 or later, but 2.4.1 is installed, at ",
    ),
    "broken": (
        "raise OSError('libcudart.so.12: cannot open\\nmore')",
        "`import torch` fails: libcudart.so.12: cannot open$",
    ),
    "incomplete": ("import not_there", "`import torch` fails: No module named 'not_there'"),
}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder in which ``torch`` is searched instead."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    installed_torch.cache_clear()
    return tmp_path


@pytest.mark.parametrize("kind", INIT)
def test_module_that_is_not_a_usable_pytorch_is_refused(kind: str, elsewhere: Path) -> None:
    text, message = INIT[kind]
    (elsewhere / "torch").mkdir()
    (elsewhere / "torch" / "__init__.py").write_text(text)
    with pytest.raises(InstalledTorchError, match=message) as raised:
        installed_torch()
    assert raised.value.status == 2
    sys.modules.pop("torch", None)


def test_missing_pytorch_is_one_clear_error(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["snapshot"]) == 2
    ended = capsys.readouterr()
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
    assert "finds none: install PyTorch 2.6 or later there, or install dispatchviz where PyTorch is" in ended.err


def test_check_says_once_that_there_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    """The process that would run the program on PyTorch reports it."""
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("there is one")
    assert main(["check", "-c", "import torch"]) == 2
    ended = capfd.readouterr()
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
    assert "finds none: install PyTorch 2.6" in ended.err


def test_release_is_read_from_a_version() -> None:
    versions = ("2.13.0+cpu", "2.6.0a0+git123", "3.0", "unknown")
    assert [release(version) for version in versions] == [(2, 13), (2, 6), (3, 0), (0, 0)]


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ({"cuda": None, "hip": None}, "CPU"),
        ({"cuda": "12.8"}, "CUDA 12.8"),
        ({"cuda": None, "hip": "6.4"}, "ROCm 6.4"),
        ({"cuda": None, "hip": None, "xpu": "20250101"}, "XPU 20250101"),
    ],
)
def test_accelerator_of_a_build_is_named(version: dict[str, object], text: str) -> None:
    torch = SimpleNamespace(__version__="2.9.0", version=SimpleNamespace(debug=False, **version))
    assert accelerator(torch) == text
    assert build_text(torch) == f"PyTorch 2.9.0, {text} build, release"


def test_release_after_the_newest_that_was_tested_is_called_newer() -> None:
    build = SimpleNamespace(debug=False, cuda=None)
    later = f"{NEWEST[0]}.{NEWEST[1] + 1}.0"
    tested = f"{NEWEST[0]}.{NEWEST[1]}.9"
    assert build_text(SimpleNamespace(__version__=later, version=build)).endswith(
        f"release (newer than {NEWEST[0]}.{NEWEST[1]}, the newest that was tested)"
    )
    assert build_text(SimpleNamespace(__version__=tested, version=build)).endswith("release")


@pytest.mark.torch
def test_pytorch_is_found_while_torch_is_the_model() -> None:
    installed = installed_torch()
    with torch_is_the_model():
        import torch

        assert torch is not installed
        assert installed_torch() is installed
        assert sys.modules["torch"] is torch


@pytest.mark.torch
def test_the_command_writes_what_is_registered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "pytorch.json.gz")
    torch = installed_torch()
    assert main(["snapshot", "-o", path]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: {build_text(torch)}, ")
    found = read_snapshot(path)
    assert found.torch == torch.__version__
    assert len(found.operators) > 3500
    assert not [one.name for one in found.operators if ".venv" in str(one) or "site-packages" in str(one)]
    assert main(["diff", path, path]) == 0
    assert main(["snapshot"]) == 0
    assert f"{len(found.operators):,}: aten " in capsys.readouterr().out


@pytest.mark.torch
def test_snapshot_is_written_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["snapshot", "-o", "-"]) == 0
    (tmp_path / "pytorch.json").write_text(capsys.readouterr().out)
    assert read_snapshot(tmp_path / "pytorch.json").by_name["aten::add.Tensor"].kernels
