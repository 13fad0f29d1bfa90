"""Sentences are broken as ``textwrap`` breaks them."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.outputs.log.line_breaks import broken

WORDS = st.one_of(st.text("ab-,.é", min_size=1, max_size=9), st.text("ab-", min_size=45, max_size=130))


@given(st.lists(WORDS), st.sampled_from([" ", "  ", "\n"]), st.integers(0, 70))
def test_as_textwrap_does(words: list[str], blank: str, indent: int) -> None:
    sentence, begin = blank.join(words), " " * indent
    width = max(110, indent + 50)
    expected = textwrap.wrap(sentence, width, initial_indent=begin, subsequent_indent=begin)
    assert list(broken(sentence, begin, 110)) == expected
