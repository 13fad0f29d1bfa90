"""The pages of the Python API, read from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dispatchviz
from dispatchviz import testing
from dispatchviz.core.record import trace_file
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
from dispatchviz.outputs.picture.graph_picture import BackwardGraph
from dispatchviz.testing import plugin

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

WRITTEN = "Written by `python -m scripts.docs` from the docstrings."

PYTHON = f"""# Python

`import dispatchviz.torch as torch` is the model under PyTorch's name; `dispatchviz.record` records what runs on it. A
script that says `import torch` is run by `dispatchviz run` instead. {WRITTEN}
"""

TESTING = f"""# Testing

The names of `dispatchviz.testing`, and the pytest plugin that comes with the package. {WRITTEN}
"""


class Options:
    """A substitute for pytest's parser that makes a row of each option."""

    def __init__(self) -> None:
        self.rows = ["| option | does |", "|---|---|"]

    def getgroup(self, *_: str) -> Options:
        """Return the same object for any group."""
        return self

    def addoption(self, name: str, *, help: str, metavar: str = "", choices: Sequence[str] = (), **_: Any) -> None:
        """Add a row to the table."""
        value = metavar or "\\|".join(choices)
        self.rows.append(f"| `{name}{'=' if value else ''}{value}` | {help} |")

    def addini(self, name: str, help: str, **_: Any) -> None:
        """Add a row for a setting of the ini file."""
        self.rows.append(f"| `{name}` in the ini file | {help} |")


def python_page() -> str:
    """Return the text of the page of ``dispatchviz``."""
    parts = [*_function("dispatchviz.record", dispatchviz.record), *_function("dispatchviz.load", dispatchviz.load)]
    parts += [*_class("Trace", dispatchviz.Trace, trace_file.Trace), *_class("BackwardGraph", BackwardGraph)]
    parts += _class("DrawnPicture", DrawnPicture)
    return "\n".join([PYTHON, *parts])


def testing_page() -> str:
    """Return the text of the page of ``dispatchviz.testing``."""
    parts = [part for name in testing.__all__ for part in _either(name, getattr(testing, name))]
    return "\n".join([TESTING, *parts, *_plugin()])


def _either(name: str, value: Any) -> Iterator[str]:
    return _class(name, value) if inspect.isclass(value) else _function(name, value)


def _plugin() -> Iterator[str]:
    yield "## The plugin\n"
    yield from _paragraphs(plugin)
    yield "### dispatch_trace\n"
    yield from _paragraphs(plugin.dispatch_trace)
    yield "### Options of pytest\n"
    options = Options()
    plugin.pytest_addoption(options)  # type: ignore[arg-type]
    yield "\n".join([*options.rows, ""])


def _function(name: str, value: Callable[..., Any], level: str = "##") -> Iterator[str]:
    yield f"{level} {name}\n"
    yield f"```text\n{name.rpartition('.')[2]}{_signature(value)}\n```\n"
    yield from _paragraphs(value)


def _signature(value: Callable[..., Any]) -> str:
    """Return the signature as it is written in the source."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value)))).body
    assert isinstance(definition, ast.FunctionDef)
    taken = ast.unparse(definition.args).removeprefix("self, ").removeprefix("cls, ")
    text = "" if taken in ("self", "cls") else taken
    gives = "" if definition.returns is None else f" -> {ast.unparse(definition.returns)}"
    if len(text) < 80:
        return f"({text}){gives}"
    return "(\n    " + re.sub(r", (?=\*|\w+:)", ",\n    ", text) + f",\n){gives}"


def _class(name: str, *classes: type) -> Iterator[str]:
    """Yield the lines about a class, with the members that its bases here add."""
    yield f"## {name}\n"
    yield from _paragraphs(classes[0])
    found = {member: value for each in reversed(classes) for member, value in vars(each).items()}
    for member, value in found.items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        wrapped = getattr(value, "func", function)
        if member.startswith("_") or not inspect.isfunction(wrapped) or not wrapped.__doc__:
            continue
        if wrapped is function and not isinstance(value, property):
            yield from _function(f"{name}.{member}", wrapped, "###")
        else:
            yield f"### {name}.{member}\n"
            yield from _paragraphs(wrapped)


def _paragraphs(documented: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring. Indented lines remain code."""
    for paragraph in (inspect.getdoc(documented) or "").split("\n\n"):
        text = paragraph if paragraph.startswith("    ") else " ".join(paragraph.split())
        yield text.replace("``", "`") + "\n"
