"""Tests that attributes in DOT text are quoted as the package graphviz quotes them."""

from __future__ import annotations

import pytest
from graphviz import nohtml
from graphviz.quoting import attr_list

from dispatchviz.outputs.picture.dot_attributes import attribute_list

TEXTS = (
    "",
    "red",
    "-4.2",
    "node",
    "a b",
    "<a b>",
    "<b>",
    'say "a b"',
    r"a b\l",
    r"a \" b",
    "a b\\\\",
    "é ü",
    "{<t>x|y z}",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_quoted_as_graphviz_quotes_it(text: str) -> None:
    given = {"penwidth": text, "color": "#FFFFFF", "id": text}
    expected = {name: nohtml(value) for name, value in given.items()}
    assert attribute_list(given, text) == attr_list(nohtml(text), kwargs=expected)
    assert attribute_list(given) == attr_list(kwargs=expected)


def test_no_attributes_give_no_text() -> None:
    assert attribute_list({}) == attr_list() == ""
