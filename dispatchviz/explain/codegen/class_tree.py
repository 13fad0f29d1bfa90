"""The classes of a structured kernel as a tree, with the branch lines before each name: all classes, or those of one
object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.explain.codegen.structured_classes import META_BASE, Family, StructuredClass


class Branch(NamedTuple):
    """A class and its place."""

    lines: str
    """The branch lines that lead to it from above: ``│ └ ``."""
    of: StructuredClass


def class_branches(family: Family, made: StructuredClass | None = None) -> list[Branch]:
    """Return each class below its base. With ``made``, only the bases of that class, the class and its other
    variants.
    """
    kept = {*family.classes} if made is None else {*_bases(family, made), *_forms(family, made)}
    return list(_below(family, META_BASE, "", "", kept))


def _bases(family: Family, each: StructuredClass) -> Iterator[StructuredClass]:
    above = next((other for other in family.classes if other.name == each.base), None)
    if above is not None:
        yield above
        yield from _bases(family, above)


def _forms(family: Family, made: StructuredClass) -> list[StructuredClass]:
    return [each for each in family.classes if each.form and each.key == made.key]


def _below(
    family: Family, each: StructuredClass, first: str, rest: str, kept: set[StructuredClass]
) -> Iterator[Branch]:
    yield Branch(first, each)
    below = [other for other in family.below(each.name) if other in kept]
    for other in below:
        last = other is below[-1]
        head = rest + ("└ " if last else "├ ")
        if other.form:  # it has no subclasses; another key may have a class of the same name
            yield Branch(head, other)
        else:
            yield from _below(family, other, head, rest + ("  " if last else "│ "), kept)
