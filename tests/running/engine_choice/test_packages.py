"""Installed packages that need a real PyTorch, and the facts about an installed PyTorch in its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.running.engine_choice import installed_release as release
from dispatchviz.running.engine_choice.choice import ON_MODEL, Choice
from dispatchviz.running.engine_choice.installed_release import InstalledRelease, installed_release

from .installed import CPU, chosen, installed

RECORDED = "; recorded on the installed PyTorch 2.14.1. --engine model insists"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of installed packages."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))  # a program replaces the first folder by its own
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(monkeypatch, CPU)
    return folder


def package(site: Path, name: str, files: dict[str, str], *requires: str) -> None:
    """Install a package."""
    for file, text in files.items():
        path = site / name / f"{file}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "\n".join(
            [f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0", *(f"Requires-Dist: {each}" for each in requires)]
        )
    )


LATER = "import sys\nsys.modules[__name__] = object()\n"
NEEDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "its metadata requires torch": ({"__init__": ""}, ("numpy", "torch>=2.0")),
    "its metadata requires torch on some systems": ({"__init__": ""}, ('Torch; sys_platform != "x"',)),
    "it imports torch": ({"__init__": "import torch.nn as nn"}, ()),
    "a module of it imports torch": ({"__init__": "from .inner import f", "inner": "import torch"}, ()),
    "a package of it imports torch": ({"__init__": "import shop.inner", "inner/__init__": "from torch import nn"}, ()),
    "it loads its modules later, and has an extra": ({"__init__": LATER}, ('torch>=2; extra == "torch"',)),
}

DOES_WITHOUT: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "nothing of it mentions torch": ({"__init__": ""}, ("numpy",)),
    "it requires another package": ({"__init__": ""}, ("torchless", "torch-extras")),
    "it imports torch in a function": ({"__init__": "def f():\n    import torch"}, ()),
    "it expects that torch is missing": ({"__init__": "try:\n    import torch\nexcept ImportError: pass"}, ()),
    "torch is only an extra": ({"__init__": ""}, ('torch; extra == "torch"',)),
    "torch is only for its tests": ({"__init__": LATER}, ("torch; extra == 'test'",)),
    "a module that is not loaded imports torch": ({"__init__": "", "inner": "import torch"}, ()),
}


@pytest.mark.parametrize("name", NEEDS)
def test_a_package_that_needs_pytorch_chooses_it(name: str, tmp_path: Path, site: Path) -> None:
    files, requires = NEEDS[name]
    package(site, "shop", files, *requires)
    assert chosen(tmp_path, "import torch\nimport shop") == Choice("torch", f"shop needs a real PyTorch{RECORDED}")


@pytest.mark.parametrize("name", DOES_WITHOUT)
def test_a_package_that_does_without_pytorch_does_not_decide(name: str, tmp_path: Path, site: Path) -> None:
    files, requires = DOES_WITHOUT[name]
    package(site, "shop", files, *requires)
    assert chosen(tmp_path, "import torch\nimport shop") == ON_MODEL


def test_a_module_for_tensors_decides_by_the_names_that_it_uses(tmp_path: Path, site: Path) -> None:
    files = {
        "__init__": "",
        "layers": "import torch\nclass A(torch.nn.Module): pass",
        "fx": "from torch.fx import Tracer",
    }
    package(site, "shop", files)
    assert chosen(tmp_path, "import shop\nfrom shop.layers import A") == ON_MODEL
    assert chosen(tmp_path, "from shop.fx import f").reason == f"shop needs a real PyTorch{RECORDED}"


def test_a_package_that_may_be_missing_counts_if_it_is_installed(tmp_path: Path, site: Path) -> None:
    package(site, "shop", {"__init__": ""}, "torch")
    program = "try:\n    import shop\nexcept ImportError:\n    shop = None"
    assert chosen(tmp_path, program).engine == "torch"
    assert chosen(tmp_path, program.replace("shop", "not_installed")) == ON_MODEL


def test_without_pytorch_packages_do_not_decide(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(site, "shop", {"__init__": ""}, "torch")
    installed(monkeypatch, None)
    assert chosen(tmp_path, "import shop") == ON_MODEL


# -- the installed PyTorch --------------------------------------------------------------------------------------------

VERSION = "__version__ = '{}'\ncuda: Optional[str] = {}\nhip: Optional[str] = None\n"
NEWER = "PyTorch 2.15.0a0+git1234, CPU build, release (newer than 2.14, the newest that was tested)"
RELEASES = {
    "a CPU build": (
        "2.14.1+cpu",
        "None",
        InstalledRelease("2.14.1", True, False, "2.14.1+cpu", "PyTorch 2.14.1+cpu, CPU build, release"),
    ),
    "a CUDA build": (
        "2.6.0+cu124",
        "'12.4'",
        InstalledRelease("2.6.0", True, True, "2.6.0+cu124", "PyTorch 2.6.0+cu124, CUDA 12.4 build, release"),
    ),
    "an old release": (
        "2.5.1",
        "None",
        InstalledRelease("2.5.1", False, False, "2.5.1", "PyTorch 2.5.1, CPU build, release"),
    ),
    "a development build": (
        "2.15.0a0+git1234",
        "None",
        InstalledRelease("2.15.0a0", True, False, "2.15.0a0+git1234", NEWER),
    ),
}


@pytest.mark.parametrize("name", RELEASES)
def test_the_files_of_pytorch_show_its_release(
    name: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, cuda, expected = RELEASES[name]
    package(site, "torch", {"__init__": "raise SystemExit", "version": VERSION.format(number, cuda)})
    (tmp_path / "gpu").touch()
    monkeypatch.setattr(release, "GPUS", {"cuda": (str(tmp_path / "gpu"),), "hip": ()})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert installed_release() == expected
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert installed_release() == expected._replace(has_gpu=False)


def test_another_module_called_torch_is_no_pytorch(site: Path) -> None:
    package(site, "torch", {"__init__": ""})
    assert installed_release() is None
