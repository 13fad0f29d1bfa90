"""Bit layouts of key sets of past releases: ``dispatchviz/explain/keys/key_layouts.json``.

    python -m truth.record key_layouts/HEADER ...

A HEADER is the ``DispatchKey.h`` of an installed torch or of an unpacked wheel:
``.../torch/include/c10/core/DispatchKey.h``, whose release is read from the ``version.py`` next to ``include``; or
``RELEASE=PATH``. Releases with the same layout become one entry. Releases that are not named keep their entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "dispatchviz" / "explain" / "keys" / "key_layouts.json"
END_OF_BITS = ("NumDispatchKeys", "EndOfFunctionalityKeys")
"""The first enumerator without a bit, in releases with one bit per key and in those with functionalities."""


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text, with the layout of one more header. Raise ValueError without a header."""
    if not part:
        raise ValueError("name a header: key_layouts/.../torch/include/c10/core/DispatchKey.h")
    named, _, path = part.rpartition("=")
    release = named or _release(Path(path))
    read = {"read_in": release, **layout(Path(path).read_text())}
    yield TARGET, _file(_known() | {_minor(release): read})


def layout(header: str) -> dict[str, Any]:
    """The backend bits and keys of a header, lowest bit first, and the keys that combine with a backend bit."""
    code = re.sub(r"//.*|/\*.*?\*/", "", header.replace("\\\n", " "))
    return {
        "backends": _backends(code),
        "keys": _keys(code),
        "per_backend": _per_backend(code),
        "aliases": _aliases(code),
    }


def _keys(code: str) -> list[str]:
    """The enumerators with a value of their own, from 1 on; those with an initializer are second names."""
    return [name for name, value in _before_end(_enumerators(code, "DispatchKey")) if value is None]


def _before_end(enumerators: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    ends = [position for position, (name, _) in enumerate(enumerators) if name in END_OF_BITS]
    return enumerators[: ends[0]]


def _aliases(code: str) -> list[str]:
    """The alias keys, which follow the keys up to their own end marker."""
    names = [name for name, value in _enumerators(code, "DispatchKey") if value is None]
    if "Autograd" not in names or not re.search(r"\bEndOfAliasKeys\b", code):
        return []
    return names[names.index("Autograd") :]


def _backends(code: str) -> list[str]:
    if "enum class BackendComponent" not in code:
        return []
    listed = re.search(r"#define C10_FORALL_BACKEND_COMPONENTS\(_, extra\)(.*)", code)
    if listed:
        return re.findall(r"_\((\w+), extra\)", listed[1])
    names = [name for name, value in _enumerators(code, "BackendComponent") if value is None]
    return [name.removesuffix("Bit") for name in names]


def _per_backend(code: str) -> dict[str, str]:
    """The prefix of the runtime keys of each functionality."""
    listed = re.search(r"#define C10_FORALL_FUNCTIONALITY_KEYS\(_\)(.*)", code)
    if listed:
        return dict(re.findall(r"_\((\w+), ?(\w*)\)", listed[1]))
    body = re.search(r"constexpr bool isPerBackendFunctionalityKey.*?return true", code, re.DOTALL)
    names = re.findall(r"DispatchKey::(\w+)", body[0]) if body else []
    return {name: "" if name == "Dense" else name.removesuffix("Functionality") for name in names}


def _enumerators(code: str, name: str) -> list[tuple[str, str | None]]:
    body = re.search(rf"enum class {name} : \w+ {{(.*?)}};", code, re.DOTALL)
    assert body is not None, f"no enum {name}"
    plain = re.sub(r"^\s*#.*$", "", body[1], flags=re.MULTILINE)
    found = re.findall(r"(\w+)\s*(?:=\s*(\w+))?\s*(?:,|$)", plain)
    return [(name, value or None) for name, value in found]


def _release(header: Path) -> str:
    version = next(folder for folder in header.parents if folder.name == "torch") / "version.py"
    found = re.search(r"__version__ = '([\d.]+)", version.read_text())
    assert found is not None, version
    return found[1]


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _known() -> dict[str, dict[str, Any]]:
    if not TARGET.exists():
        return {}
    layouts = json.loads(TARGET.read_text())["layouts"]
    return {
        _minor(read_in): {"read_in": read_in} | {name: entry[name] for name in entry if name != "releases"}
        for entry in layouts
        for read_in in entry["releases"]
    }


def _file(known: dict[str, dict[str, Any]]) -> str:
    """The text of the file, one line per entry, oldest first."""
    entries: list[dict[str, Any]] = []
    for release in sorted(known, key=_order):
        facts = {name: value for name, value in known[release].items() if name != "read_in"}
        if entries and {name: entries[-1][name] for name in facts} == facts:
            entries[-1]["releases"].append(known[release]["read_in"])
        else:
            entries.append({"releases": [known[release]["read_in"]], **facts})
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    return f'{{"source": "c10/core/DispatchKey.h of each release", "layouts": [\n{lines}\n]}}\n'
