"""Write ``docs/lists/events.md``: every kind of event, with the type and meaning of each field.

    python -m scripts.events_page            write the page
    python -m scripts.events_page --check    write nothing; exit status 1 if the page is stale

Everything is read from the text of the modules of ``dispatchviz.core.record.events``, because docstrings of fields do
not exist at run time.
"""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import field_types

PAGE = Path(__file__).parents[1] / "docs" / "lists" / "events.md"

HEAD = """# Events

This page lists every kind of event of a trace, with the type and meaning of each field. In a trace file an event is a
JSON array: the name of its kind, `seq`, `parent`, then its other fields in the order on this page. Written by
`python -m scripts.events_page`.
"""


class Variable(typing.NamedTuple):
    """A field of a class, or a name of a module."""

    name: str
    type: str
    """The annotation of a field, or the value of a name of a module."""
    docstring: str
    """The docstring; empty if there is none."""


def variables(body: list[ast.stmt]) -> Iterator[Variable]:
    """Yield the variables of a class or module, with the docstring that follows each."""
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=type_):
                yield Variable(name, ast.unparse(type_), _docstring(following))
            case ast.Assign(targets=[ast.Name(id=name)], value=type_):
                yield Variable(name, ast.unparse(type_), _docstring(following))


def _docstring(statement: ast.stmt | None) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""


def modules() -> list[ast.Module]:
    """Return the modules of the package, in the order of their kinds in the union. The base class comes first."""
    sources = dict.fromkeys(inspect.getsourcefile(kind) or "" for kind in (ev.Event, *typing.get_args(ev.AnyEvent)))
    return [ast.parse(Path(source).read_text("utf-8")) for source in sources]


def page() -> str:
    """Return the text of the page."""
    parts = (part for module in modules() for part in _module(module))
    return "\n\n".join([HEAD.strip(), *_notation(), *_numbers(), *parts]) + "\n"


def _notation() -> Iterator[str]:
    """Yield the text about all fields, from the package's docstring."""
    paragraphs = inspect.cleandoc(ev.__doc__ or "").split("\n\n")
    return (_markdown(text) for text in paragraphs if text.startswith(("Numbers: ", "Text: ")))


def _numbers() -> Iterator[str]:
    """Yield the ranges of numbers, from the module of field types."""
    yield "\n## Numbers"
    yield "An event of a trace file with a number that is out of range is read as `Unknown`."
    module = ast.parse(Path(field_types.__file__).read_text("utf-8"))
    named = [each for each in variables(module.body) if each.type.startswith("Annotated[")]
    yield "\n".join(f"- `{each.name}`, {bounds(each.name)}: {_markdown(each.docstring)}" for each in named)


def bounds(name: str) -> str:
    """Return the range of a field type: ``0 to 4294967295``."""
    (meta,) = getattr(field_types, name).__metadata__
    assert isinstance(meta, msgspec.Meta)
    return f"from {meta.ge}" if meta.le is None else f"{meta.ge} to {meta.le}"


def _module(module: ast.Module) -> Iterator[str]:
    first, *rest = (ast.get_docstring(module) or "").split("\n\n")
    yield f"\n## {_markdown(first).rstrip('.')}"
    yield from map(_markdown, rest)
    vocabularies = [variable for variable in variables(module.body) if variable.type.startswith("Literal[")]
    yield from (f"`{each.name}`: {_markdown(each.docstring)}\n{_values(each.type)}" for each in vocabularies)
    for statement in module.body:
        if isinstance(statement, ast.ClassDef) and any(variables(statement.body)):
            yield from _kind(statement)


def _values(vocabulary: str) -> str:
    return "\n".join(f"- `{value}`" for value in ast.literal_eval(vocabulary.removeprefix("Literal")))


def _kind(kind: ast.ClassDef) -> Iterator[str]:
    yield f"### {kind.name}"
    yield from map(_markdown, (ast.get_docstring(kind) or "").split("\n\n"))
    yield "\n".join(f"- `{name}`, `{type_}`: {_markdown(text)}" for name, type_, text in variables(kind.body))


def _markdown(text: str) -> str:
    """Return a docstring on one line."""
    return " ".join(text.replace("``", "`").split())


def main() -> int:
    """Write or check the page, and return the exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
