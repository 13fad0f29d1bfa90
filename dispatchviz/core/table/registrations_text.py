"""PyTorch's registrations as text, with a line for each operator. ``truth/formats/registrations_file.py`` has the
format.

The head is read at once, and an operator when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.foundation.unlocked_property import cached_property


class Row(NamedTuple):
    """One registration."""

    key: str
    debug: str
    flags: int


class OperatorLine(NamedTuple):
    """One line of the text."""

    schema: str
    location: str
    alias_analysis: str
    marks: str
    rows: str
    cuda: str


class RegistrationsText:
    """The registrations of a release, in both builds."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition("\n\n")
        parts = {what: rest for what, *rest in (line.split("\t") for line in head.splitlines())}
        (self.torch,), (self.fallbacks,) = parts["torch"], parts["fallbacks"]
        self._keys, self._locations = parts["keys"], parts["places"]
        self.owners = dict(owned.split(" ", 1) for owned in parts["owners"])
        self.numbers = tuple(parts["numbers"])
        """PyTorch's names of the keys, by number: runtime keys, aliases and placeholders."""
        self._members = parts["members"]
        self.lines = {line[: line.index("(")]: line for line in body.splitlines()}
        """The lines of operators by full name."""

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """The aliases, each with the names of its runtime keys."""
        return {alias: tuple(names) for alias, *names in map(str.split, self._members)}

    @cached_property
    def files(self) -> frozenset[str]:
        """The files in which kernels are registered, without line numbers."""
        return frozenset(place.removeprefix("registered at ").partition(":")[0] for place in self._locations)

    def operator(self, name: str) -> OperatorLine:
        """Return the operator with a name. Raise KeyError if there is none."""
        return OperatorLine(*self.lines[name].split("\t"))

    def rows(self, text: str) -> Iterator[Row]:
        """Yield the registrations of a text ``KEY.TEXT.LINE.FLAGS``, separated by spaces."""
        for key, location, line, flags in (field.split(".") for field in text.split()):
            yield Row(self._keys[int(key)], self.location(location, line), int(flags))

    def location(self, text: str, line: str) -> str:
        """Return the text ``registered at FILE:LINE``. Kernels read from torchgen have no line."""
        return self._locations[int(text)] + f":{line}" * (line != "0")

    def defined(self, name: str) -> str:
        """Return the place of an operator's definition. Raise KeyError if there is no such operator."""
        return self.location(*self.operator(name).location.split("."))

    def operators_with(self, key: str, cuda: bool) -> frozenset[str]:
        """Return the full names of operators with a registration for a key or alias itself."""
        if key not in self._keys:
            return frozenset()
        number = self._keys.index(key)
        after_tab, after_space = f"\t{number}.", f" {number}."
        lines = ((name, line) for name, line in self.lines.items() if after_space in line or after_tab in line)
        return frozenset(name for name, line in lines if after_space in _rows(line, cuda))  # most are left out before


def _rows(line: str, cuda: bool) -> str:
    """The registrations in a line of the text, each preceded by a space."""
    *_, rows, more = line.split("\t")
    return f" {rows} {more}" if cuda else f" {rows}"
