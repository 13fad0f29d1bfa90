"""Writes ``docs/events.md``: every kind of event of a trace, with the type and meaning of each of its fields.

python -m scripts.events_page            write the page
python -m scripts.events_page --check    write it nowhere; exit status 1 if it is stale

Everything is read off the modules of ``dispatchviz.core.record.events``: docstrings of fields stand in the text alone.
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

PAGE = Path(__file__).parents[1] / "docs" / "events.md"

HEAD = """# Events

Every kind of event of a trace, with the type and meaning of each of its fields. In a trace file an event is a JSON
array: the name of its kind, `seq`, `parent`, then its other fields in the order in which they stand here. Written by
`python -m scripts.events_page`.
"""


class Variable(typing.NamedTuple):
    """A field of a class, or a name of a module."""

    name: str
    type: str
    """Its annotation; of a name of a module its value."""
    docstring: str
    """Empty if it has none."""


def variables(body: list[ast.stmt]) -> Iterator[Variable]:
    """Those of a class or module, with the docstring that follows each."""
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
    """Those of the package, in the order in which the union has their kinds; the base class comes first."""
    sources = dict.fromkeys(inspect.getsourcefile(kind) or "" for kind in (ev.Event, *typing.get_args(ev.AnyEvent)))
    return [ast.parse(Path(source).read_text("utf-8")) for source in sources]


def page() -> str:
    """The text of the page."""
    parts = (part for module in modules() for part in _module(module))
    return "\n\n".join([HEAD.strip(), *_notation(), *_numbers(), *parts]) + "\n"


def _notation() -> Iterator[str]:
    """What all fields have in common, from the package's docstring."""
    paragraphs = inspect.cleandoc(ev.__doc__ or "").split("\n\n")
    return (_markdown(text) for text in paragraphs if text.startswith(("Numbers: ", "Text: ")))


def _numbers() -> Iterator[str]:
    """What a number can be, from the module of field types."""
    yield "\n## Numbers"
    yield "An event of a trace file with a number out of bounds is opened as `Unknown`."
    module = ast.parse(Path(field_types.__file__).read_text("utf-8"))
    named = [each for each in variables(module.body) if each.type.startswith("Annotated[")]
    yield "\n".join(f"- `{each.name}`, {bounds(each.name)}: {_markdown(each.docstring)}" for each in named)


def bounds(name: str) -> str:
    """``0 to 4294967295``, of a field type."""
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
    """A docstring on one line."""
    return " ".join(text.replace("``", "`").split())


def main() -> int:
    """Exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
