"""The classes of a structured kernel as a picture: a box for each class, the bases on the left, the objects on the
right.

Arrows lead from a class to its base, as in class diagrams.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dispatchviz.explain.codegen.structured_classes import Family, Member, StructuredClass
from dispatchviz.foundation.english import listed
from dispatchviz.outputs.picture.dot import Drawing, Pen
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture

WIDEST = 54
"""The number of characters at which the text of a member is wrapped."""

LOOKS = {
    "": "#FFFFFF",
    "functional": "#D3E7F5",
    "in-place": "#FDF6C9",
    "out": "#F3DDEB",
}
"""The fill of each form. The name of a class ends in its form too."""


def render(family: Family, path: str) -> None:
    """Write the picture in the format of the file's suffix. Raise RenderError if that fails."""
    DrawnPicture(class_drawing(family)).render(path)


def class_drawing(family: Family) -> Drawing:
    """Return the drawing of all classes of a family. Two keys may have classes of the same name."""
    pen = Pen()
    numbers: dict[str, int] = {}
    for number, each in enumerate(family.classes):
        numbers.setdefault(each.name, number)
        pen.box(f"c{number}", _label(pen, family, each), style="filled", fillcolor=LOOKS[each.form], color="#555555")
        if each.base:
            pen.edge(f"c{numbers[each.base]}", f"c{number}", dir="back", arrowtail="empty")
    return pen.drawing(_title(family), "classes", rankdir="LR", ranksep="0.6", nodesep="0.15")


def _title(family: Family) -> Iterator[str]:
    yield f"Classes of the structured kernel of {listed([f'aten::{name}' for name in family.operators.values()])}"
    yield f"Arrows: from a class to its base.  ●: overrides what is above.  {family.macro}: defines {family.meta}"


def _label(pen: Pen, family: Family, each: StructuredClass) -> str:
    """Return the label of a class: name, file, members. In a picture from left to right the fields are one below the
    other.
    """
    wrapper = family.wrapper(each.key, each.form) if each.form else None
    made = [f"for aten::{wrapper.operator} at {wrapper.key}"] if wrapper else []
    head = [each.name, each.file.rpartition("/")[2] if each.form else each.file, *made]
    members = pen.lines(part for member in each.members for part in _texts(member))
    return "|".join(filter(None, [pen.lines(head), members]))


def _texts(member: Member) -> list[str]:
    sign = "● " if member.overrides else ""
    return textwrap.wrap(f"{sign}{member.name}: {member.does}", WIDEST, break_on_hyphens=False)
