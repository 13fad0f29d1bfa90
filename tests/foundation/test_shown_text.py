"""The one rule for text that reaches a terminal, character by character."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.foundation.shown_text import BLANK, all_shown, shown, shown_json, shown_lines
from tests.hostile_texts import COMMANDS, HOSTILE, READABLE, raw


@pytest.mark.long
@pytest.mark.parametrize("plane", range(17))
def test_the_category_of_a_character_decides(plane: int) -> None:
    chars = [chr(code) for code in range(plane << 16, (plane + 1) << 16)]
    commands = {char for char in chars if unicodedata.category(char) in COMMANDS or char in BLANK}
    sent = [char.encode("unicode_escape").decode() if char in commands else char for char in chars]
    assert shown("".join(chars)) == "".join(sent)
    assert commands.isdisjoint(shown_json("".join(chars)))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_hostile_is_sent(text: str) -> None:
    assert not raw(shown(text))
    assert "\n" not in shown(text)
    assert "\\" in shown(text)


@pytest.mark.parametrize("text", READABLE)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_there_are_enough_texts() -> None:
    assert len(set(HOSTILE)) >= 41
    assert set(COMMANDS) <= {unicodedata.category(char) for text in HOSTILE for char in text}


def test_a_joiner_is_sent_within_an_emoji_only() -> None:
    assert shown("👩\u200d🚀") == "👩\u200d🚀"
    assert shown("a\u200d🚀") == "a\\u200d🚀"
    assert shown("🚀\u200da") == "🚀\\u200da"
    assert shown("\u200d") == "\\u200d"
    assert shown("🚀\u200d\u200d🚀") == "🚀\\u200d\\u200d🚀"


def test_lines_stay_lines() -> None:
    assert shown_lines("a\nb\x1b\rc\n") == "a\nb\\x1b\\rc\n"


@given(st.text(st.characters(codec=None, exclude_characters="\\")))
def test_what_is_shown_can_be_read_back(text: str) -> None:
    escaped = shown(text).encode("latin-1", "backslashreplace").decode("unicode_escape")
    assert escaped.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@given(st.text())
def test_json_is_read_back_as_it_was(text: str) -> None:
    assert json.loads(shown_json(json.dumps(text, ensure_ascii=False))) == text


@given(st.lists(st.text(st.sampled_from("ab→\x1b\u115f\U000e0100🙂"))))
def test_many_lines_are_looked_at_at_once(lines: list[str]) -> None:
    assert all_shown(lines) == all(shown(line) == line for line in lines)
