"""The entries of a yaml file, each with its location, read field by field.

A reader of an entry takes out every field, with its type. A field that is left over is an error, and so are two things
that yaml itself accepts: a field given twice, and an entry that is not a mapping. Every message has file, line, name,
and the allowed values.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dispatchviz.core.schema.function_schema import FunctionSchema, SchemaError
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.foundation.errors import DispatchvizError


class SpecError(DispatchvizError):
    """A mistake in one of the yaml files: file, line, name, and the allowed values."""


@dataclass(frozen=True)
class Location:
    """The file and line of an entry."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Entry:
    """One mapping of the top-level list, while its fields are read."""

    def __init__(self, fields: Mapping[str, Any], where: Location) -> None:
        self.where = where
        self.name = ""
        """The operator's name, once its schema is read."""
        self._had = frozenset(fields)
        self._left = dict(fields)
        self._asked: list[str] = []

    def __contains__(self, field: str) -> bool:
        return field in self._left

    @property
    def asked(self) -> list[str]:
        """Names of the fields that the entry had and that have been read."""
        return [field for field in self._asked if field in self._had]

    @property
    def left(self) -> list[str]:
        """Names of the fields that have not been read."""
        return list(self._left)

    def refused(self, what: str) -> SpecError:
        """Return the error to raise."""
        return SpecError(f"{self.where}: {self.name}: {what}" if self.name else f"{self.where}: {what}")

    def schema(self, field: str) -> FunctionSchema:
        """Read the field that every entry begins with."""
        text = self.text(field)
        if not text:
            raise self.refused(f"an entry begins with {field}: and a schema; this one has {', '.join(self._left)}")
        try:
            schema = parse_schema(f"aten::{text.replace('=Mean', '=1')}")  # at::Reduction::Mean
        except SchemaError as error:
            problem = " ".join(error.problem.split())
            begin = error.text[error.position :].strip() or "the end"
            raise self.refused(f"{field} {text!r} is not a schema: {problem} (at {begin!r})") from None
        self.name = schema.full_name.removeprefix("aten::")
        return schema

    def text(self, field: str, default: str = "") -> str:
        """Read a string."""
        value = self._take(field, default)
        if not isinstance(value, str):
            raise self.refused(f"{field} must be a text, not {value!r}")
        return value

    def formula(self, field: str) -> str:
        """Read a Python expression, which yaml may have read as a number."""
        value = self._take(field, "")
        if isinstance(value, (list, dict)) or value is None:
            raise self.refused(f"{field} must be an expression, not {value!r}; quote one that begins with [ or {{")
        return str(value)

    def flag(self, field: str) -> bool:
        """Read ``True`` or ``False``; False if the field is missing."""
        value = self._take(field, False)
        if not isinstance(value, bool):
            raise self.refused(f"{field} must be True or False, not {value!r}")
        return value

    def mapping(self, field: str) -> dict[str, str]:
        """Read names and texts; empty if the field is missing."""
        value = self._take(field, {})
        if not isinstance(value, dict) or not all(isinstance(part, str) for pair in value.items() for part in pair):
            raise self.refused(f"{field} must be lines of KEY: name under it, not {value!r}")
        return value

    def sequence(self, field: str, default: Sequence[Any]) -> list[Any]:
        """Read a list."""
        value = self._take(field, default)
        if not isinstance(value, list):
            raise self.refused(f"{field} must be a list, not {value!r}")
        return value

    def ignore(self, fields: Sequence[str]) -> None:
        """Read fields that mean nothing here."""
        for field in fields:
            self._take(field, None)

    def finish(self) -> None:
        """Raise SpecError if a field has not been read."""
        if self._left:
            unknown, known = ", ".join(self._left), ", ".join(sorted(self._asked))
            raise self.refused(f"unknown field {unknown}; an entry may have {known}")

    def _take(self, field: str, default: Any) -> Any:
        self._asked.append(field)
        return self._left.pop(field, default)


def meant(word: str, known: Iterable[str]) -> str:
    """The text ``; did you mean add.out?`` if a known name is similar, else an empty text."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def entries(path: Path) -> Iterator[Entry]:
    """Yield every entry of a file, in its order. Raise SpecError if the file is not a list of mappings."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = path.read_text(encoding="utf-8")
    try:
        top = yaml.compose(text, Loader=loader)
        values = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise _not_yaml(path, error) from None
    if not isinstance(top, yaml.SequenceNode):
        raise SpecError(f"{path.name}:1: the file must be a list of entries, each of which begins with '- '")
    for node, value in zip(top.value, values, strict=True):
        where = Location(path.name, node.start_mark.line + 1)
        if not isinstance(value, dict):
            raise SpecError(f"{where}: an entry must be lines of field: value, not {value!r}")
        _check_fields(path, node)
        yield Entry(value, where)


def _not_yaml(path: Path, error: yaml.YAMLError) -> SpecError:
    """Return the error for a syntax error. It names the position and the line where the enclosing block begins, which
    helps with indentation.
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
    if mark is None:
        return SpecError(f"{path.name}: not valid yaml: {problem}")
    began = getattr(error, "context_mark", None)
    since = f", in what begins at line {began.line + 1}" if began and began.line != mark.line else ""
    return SpecError(f"{path.name}:{mark.line + 1}: not valid yaml: {problem} (column {mark.column + 1}{since})")


def _check_fields(path: Path, node: yaml.Node) -> None:
    """Raise SpecError for a field given twice. yaml itself would take the last of the two."""
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                first = seen[key.value]
                raise SpecError(f"{path.name}:{line}: {key.value} is given twice, first at line {first}")
            seen[key.value] = line
            _check_fields(path, value)
