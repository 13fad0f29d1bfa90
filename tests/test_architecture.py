"""The pages for maintainers match the files: the names on them exist, and every package has its row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "dispatchviz"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = (ARCHITECTURE, ROOT / "CONTRIBUTING.md")

FOLDERS = ("dispatchviz", "tests", "truth", "scripts", "examples", "docs", "benchmarks", ".ci", ".github")
PYTORCH = re.compile(r"(torch/(csrc|utils)|aten|c10|tools|boxing)\b|.*\.(h|cpp|cu)$|torchgen$")
"""Files of PyTorch, which ``tests/conformance/test_places_live.py`` looks up."""

NOT_HERE = {"CPU.b11", ".mypy_cache", ".venv", "NAME", ".venv-torch/bin/python"}
"""Names of an example, and of files that only a run writes."""


@cache
def paths() -> tuple[str, ...]:
    """Return all files and folders, relative to the repository."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return (*FOLDERS, *(path.relative_to(ROOT).as_posix() for path in found))


@cache
def words() -> frozenset[str]:
    """Return every word of the sources."""
    sources = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    sources += [ROOT / path for path in paths() if path.endswith(".py") and ROOT / path != Path(__file__)]
    return frozenset(word for path in sources for word in re.findall(r"\w+", path.read_text("utf-8")))


def code(page: Path) -> Iterator[str]:
    """Yield the code in backticks; of PyTorch's files only the names that exist here, too."""
    for token in re.findall(r"`([^`\n]+)`", page.read_text("utf-8")):
        if not PYTORCH.match(token) and token not in NOT_HERE:
            yield token


def exists(name: str) -> bool:
    """Return whether a file or folder exists, from anywhere in the repository: ``panes/pane_list.py``,
    ``tui/panes/*_pane.py``.
    """
    name = name.rstrip("/")
    return any(fnmatch(path, name) or fnmatch(path, f"*/{name}") for path in paths())


def missing(token: str) -> list[str]:
    """Return the parts of a token that do not exist."""
    if "pytest " in token:
        return [name for name in token.split() if "/" in name and not name.startswith(".venv") and not exists(name)]
    command = re.match(r"(?:\S*python\d? -m |make )([\w.-]+)", token)
    if command and not token.startswith("make "):
        module = command[1].replace(".", "/")
        return [] if exists(f"{module}.py") or exists(f"{module}/__main__.py") else [module]
    if command:
        return [] if re.search(rf"^{command[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE) else [token]
    if token.startswith("pytest "):
        return [path for path in token.split()[1:] if not exists(path)]
    if re.fullmatch(r"[\w*.-]+/[\w*./-]*|[\w*.-]+\.(py|md|txt|json|yaml|toml)", token):
        return [] if exists(token) else [token]
    return [word for word in re.findall(r"[A-Za-z_]\w+", token) if word not in words() and not exists(word)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_on_a_page_exist(page: Path) -> None:
    assert [(token, gone) for token in code(page) if (gone := missing(token))] == []


def test_missing_name_would_be_found() -> None:
    assert missing("core/notes.py") == ["core/notes.py"]
    assert missing("python -m scripts.record_torch") == ["scripts/record_torch"]
    assert missing("pytest tests/gone.py tests/core") == ["tests/gone.py"]
    assert missing("make everything") == ["make everything"]
    assert missing("Recorder.notes_of_old") == ["notes_of_old"]


def test_every_example_has_its_row() -> None:
    named = set(re.findall(r"^\| `(.*?)`", (ROOT / "examples" / "README.md").read_text("utf-8"), re.MULTILINE))
    shipped = [path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*.py")]
    # docs/lists/messages.md names those in errors
    assert named == {path.as_posix() for path in shipped if path.parts[0] != "errors"}


# -- packages ---------------------------------------------------------------------------------------------------------


def folders(below: Path) -> list[Path]:
    """Return the folders with sources, at all levels."""
    found = (path for path in below.rglob("*") if path.is_dir() and any(path.glob("*.py")))
    return sorted(path for path in found if path.name != "__pycache__")


def test_every_package_has_its_row() -> None:
    """Inner packages are named with the package that contains them; those of ``torch`` are PyTorch's."""
    text = ARCHITECTURE.read_text("utf-8")
    rooms = [
        room for part in ("core", "explain", "outputs", "running", "tui", "views") for room in folders(PACKAGE / part)
    ]
    modules = [path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    unnamed = [path.name for path in (*rooms, *modules) if not re.search(rf"`([\w/]+/)?{path.name}/?`", text)]
    assert unnamed == ["batch_rules"], "only what is within functorch needs no word of its own"


@pytest.mark.parametrize(("folder", "most"), [("core", 20), ("core/native", 30), ("explain", 15), ("tui", 16)])
def test_package_is_small_enough_for_a_glance(folder: str, most: int) -> None:
    entries = [path for path in (PACKAGE / folder).iterdir() if path.is_file() or any(path.glob("*.py"))]
    assert 3 < len(entries) <= most


def test_every_folder_has_a_first_sentence() -> None:
    silent = []
    for folder in (path for part in ("dispatchviz", "truth", "tests") for path in (ROOT / part, *folders(ROOT / part))):
        init = folder / "__init__.py"
        docstring = ast.get_docstring(ast.parse(init.read_text("utf-8"))) if init.exists() else None
        if not (docstring or "").partition("\n\n")[0].endswith((".", ":")):
            silent.append(folder.relative_to(ROOT).as_posix())
    assert silent == []


# -- what modules say of each other -----------------------------------------------------------------------------------

LIKE_PYTORCH = PACKAGE / "torch"
"""A package whose modules name the files of PyTorch that they mirror."""

ELSEWHERE = re.compile(r"(torchgen|tools|torch|functorch|aten)/|gen_python_functions\.py|docs/gpu\.md|forum\.jsonl\.gz")


def test_modules_name_files_that_exist() -> None:
    gone = []
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "truth").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]:
        if LIKE_PYTORCH in path.parents:
            continue
        for name in re.findall(r"``([\w./*-]+\.(?:py|txt|yaml|json|md))``", path.read_text("utf-8")):
            if not ELSEWHERE.match(name) and not exists(name):
                gone.append((path.relative_to(ROOT).as_posix(), name))
    assert gone == []
