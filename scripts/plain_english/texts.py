"""The texts of a file with their lines: docstrings, comments, strings, prose of pages, names of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.plain_english.rules import Kind

OUR_STRINGS = re.compile(
    r"(?:dispatchviz/(?:explain|views|tui|cli|outputs|live|running|serving|testing|lessons|notebook|foundation)|scripts)/"
)
"""Folders whose strings are ours. ``core`` and ``torch`` quote PyTorch's messages, and tests quote both."""


class Text(NamedTuple):
    line: int
    kind: Kind
    text: str


def texts(path: Path, name: str, source: str | None = None) -> Iterator[Text]:
    """The texts of a file; ``name`` is its path in the project. ``source`` replaces the text of the file.

    A file of another type has none.
    """
    source = path.read_text("utf-8") if source is None else source
    match path.suffix:
        case ".py":
            yield from _python(source, name)
        case ".md":
            yield from _page(source)
        case ".js" | ".html" | ".css":
            for number, line in enumerate(source.splitlines(), 1):
                yield Text(number, "script", line)


def _python(source: str, name: str) -> Iterator[Text]:
    ours = OUR_STRINGS.match(name) is not None
    docstrings: set[int] = set()
    seen: set[int] = set()
    for node in ast.walk(ast.parse(source)):  # statements come before those within them
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                docstrings.add(id(node.body[0]) if node.body else 0)
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield Text(node.lineno, "test name", node.name)
            case ast.Expr(ast.Constant(str(text)) as constant):
                seen.add(id(constant))
                yield Text(node.lineno, "docstring" if id(node) in docstrings else "attribute", " ".join(text.split()))
            case ast.Constant(str(text)) if ours and " " in text and id(node) not in seen:
                yield Text(node.lineno, "string", text)
    for comment in re.finditer("(?:^|  )# (.+)$", source, re.MULTILINE):
        yield Text(source.count("\n", 0, comment.start()) + 1, "comment", comment[1])


def _page(source: str) -> Iterator[Text]:
    """Paragraphs without blocks of code; what is in backticks is left out, too."""
    prose = re.sub(r"(?ms)^( *)(```|~~~).*?^\1\2.*?$", lambda block: "\n" * block[0].count("\n"), source)
    prose = re.sub(r"`[^`\n]+`", "``", prose)
    for paragraph in re.finditer(r"(?:^(?! {4}).+\n?)+", prose, re.MULTILINE):
        yield Text(prose.count("\n", 0, paragraph.start()) + 1, "page", " ".join(paragraph[0].split()))
