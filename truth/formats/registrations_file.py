"""The format of ``dispatchviz/core/native/registrations.txt``: PyTorch's registrations as text, one line per operator.

The parts of a line are separated by tabs:

    schema, location of the definition, alias analysis (empty: FROM_SCHEMA), s if structured, registrations, CUDA's

A header precedes them. It names the release, all keys by number, the members of aliases, the owners of namespaces,
the fallbacks, and the keys and texts of locations that registrations have. A registration is KEY.TEXT.LINE.FLAGS, with
key and text as numbers and line 0 for none, in the order of PyTorch's dump. A location is TEXT.LINE. Flags: 1 boxed, 2
unboxed, 4 fallthrough, 8 with a C++ signature. This module has no dependencies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[2] / "dispatchviz/core/native/registrations.txt"


class Row(NamedTuple):
    """A registration of a kernel: key, debug text and flags."""

    key: str
    debug: str
    flags: int


class Operator(NamedTuple):
    """The definition and registrations of an operator."""

    schema: str
    location: str
    alias_analysis: str
    """The kind of alias analysis; empty for FROM_SCHEMA."""
    structured: bool
    rows: list[Row]
    cuda: list[Row]
    """The additional registrations of a CUDA build."""

    @property
    def name(self) -> str:
        return self.schema.partition("(")[0]


class Contents(NamedTuple):
    """The contents of a file."""

    torch: str
    numbers: list[str]
    """The names of all keys, by number."""
    members: dict[str, list[str]]
    """The runtime keys of each alias."""
    owners: dict[str, str]
    fallbacks: list[Row]
    operators: list[Operator]


def text(contents: Contents) -> str:
    """The text of the file."""
    keys: dict[str, int] = {}
    locations: dict[str, int] = {}

    def location(debug: str) -> str:
        text, line = re.fullmatch(r"(.*?)(?::(\d+))?", debug).groups()  # type: ignore[union-attr]
        return f"{locations.setdefault(text, len(locations))}.{line or 0}"

    def rows(found: Iterable[Row]) -> str:
        return " ".join(f"{keys.setdefault(key, len(keys))}.{location(debug)}.{flags}" for key, debug, flags in found)

    body = [
        "\t".join((o.schema, location(o.location), o.alias_analysis, "s" * o.structured, rows(o.rows), rows(o.cuda)))
        for o in contents.operators
    ]
    head = [
        ("torch", contents.torch),
        ("numbers", *contents.numbers),
        ("members", *(" ".join((alias, *found)) for alias, found in contents.members.items())),
        ("fallbacks", rows(contents.fallbacks)),
        ("owners", *(f"{namespace} {where}" for namespace, where in contents.owners.items())),
        ("keys", *keys),
        ("places", *locations),
    ]
    return "".join(f"{line}\n" for line in [*map("\t".join, head), "", *body])


def read() -> Contents:
    """The contents of the stored file."""
    return parsed(PATH.read_text(encoding="utf-8"))


def parsed(text: str) -> Contents:
    """The contents of a text."""
    head, _, body = text.partition("\n\n")
    parts = {what: rest for what, *rest in (line.split("\t") for line in head.splitlines())}

    def location(place: str, line: str) -> str:
        return parts["places"][int(place)] + f":{line}" * (line != "0")

    def rows(found: str) -> list[Row]:
        split = (word.split(".") for word in found.split())
        return [Row(parts["keys"][int(key)], location(at, line), int(flags)) for key, at, line, flags in split]

    owners = dict(owned.split(" ", 1) for owned in parts["owners"])
    members = {alias: found for alias, *found in map(str.split, parts.get("members", []))}
    operators = [_operator(line, location, rows) for line in body.splitlines()]
    return Contents(
        parts["torch"][0], parts.get("numbers", []), members, owners, rows(parts["fallbacks"][0]), operators
    )


def _operator(line: str, location: Callable[[str, str], str], rows: Callable[[str], list[Row]]) -> Operator:
    schema, defined, alias, marks, own, cuda = line.split("\t")
    return Operator(schema, location(*defined.split(".")), alias, "s" in marks, rows(own), rows(cuda))
