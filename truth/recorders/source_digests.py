"""Digests of PyTorch's sources that we mirror: its yaml files, and the Python files that our docstrings name.

PyTorch's text is not kept. ``python -m truth.follow RELEASE`` compares the digests with those of another release. The
file is JSON:

- ``torch``: the release
- ``python``: by file, the digest of each function, of each class without its functions, and of the rest of the file
  (an empty name). Docstrings, annotations, comments and layout do not count.
- ``yaml``: by file, the digest of each field of each entry by the operator's name; ``dispatch CPU`` is a field
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from truth import records
from truth.formats.json_text import json_text
from truth.formats.mirrored_files import mirrored_files

YAML = {
    "native_functions.yaml": ("torchgen/packaged/ATen/native/native_functions.yaml", "func"),
    "derivatives.yaml": ("torchgen/packaged/autograd/derivatives.yaml", "name"),
}
"""The place of each yaml file in an installed PyTorch, and the field with the schema."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def site() -> Path:
    """The folder that holds the packages ``torch`` and ``torchgen``, which are not imported."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise ImportError("torch is not installed")
    return Path(found.origin).parents[1]


def version() -> str:
    """The release of the installed PyTorch."""
    return importlib.metadata.version("torch").partition("+")[0]


def digest(text: str) -> str:
    """A digest of ten characters."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


# -- Python -----------------------------------------------------------------------------------------------------------


class _Plain(ast.NodeTransformer):
    """Removes docstrings and annotations of functions from a syntax tree."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)


def of_python(text: str) -> dict[str, str]:
    """The digests of a Python file. Functions of one name, such as the two of a property, share a digest."""
    found: dict[str, str] = {}
    for name, part in _parts(_Plain().visit(ast.parse(text)), ""):
        found[name] = f"{found.get(name, '')}\n{part}"
    return {name: digest(part) for name, part in found.items()}


def _parts(scope: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts: of the functions and classes in a class or file, and of its rest."""
    inside = [node for node in scope.body if isinstance(node, _SCOPES)]
    for node in inside:
        full = f"{name}.{node.name}".lstrip(".")
        yield from _parts(node, full) if isinstance(node, ast.ClassDef) else [(full, ast.unparse(node))]
    scope.body = [node for node in scope.body if node not in inside]
    yield name, ast.unparse(scope)


def python_digests() -> dict[str, dict[str, str]]:
    """The digests of the mirrored files that the installed PyTorch has."""
    paths = {name: site() / name for name in mirrored_files()}
    return {name: of_python(path.read_text("utf-8")) for name, path in paths.items() if path.is_file()}


# -- yaml -------------------------------------------------------------------------------------------------------------


def of_yaml(text: str, schema: str) -> dict[str, dict[str, str]]:
    """The digests of a yaml file: for each operator, those of the fields of its entries."""
    found: dict[str, dict[str, str]] = {}
    for entry in yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        name = entry[schema].partition("(")[0]
        found.setdefault(name, {}).update((field, digest(value)) for field, value in _fields(entry))
    return found


def _fields(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of an entry as texts, with a field for each key of ``dispatch``: ``dispatch CPU``."""
    for field, value in entry.items():
        if field == "dispatch" and isinstance(value, dict):
            for keys, inside in value.items():
                yield from ((f"dispatch {key.strip()}", repr(inside)) for key in keys.split(","))
        else:
            yield field, repr(value)


def yaml_digests() -> dict[str, dict[str, dict[str, str]]]:
    """The digests of both yaml files."""
    return {name: of_yaml((site() / path).read_text("utf-8"), schema) for name, (path, schema) in YAML.items()}


def data() -> dict[str, Any]:
    """The contents of the record."""
    return {"torch": version(), "python": python_digests(), "yaml": yaml_digests()}


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "source_digests.json.gz", json_text(data())
