"""The check of our texts: each rule finds its words, and good words break no rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.plain_english.__main__ import exceptions, findings
from scripts.plain_english.rules import RULES
from scripts.plain_english.texts import texts

BAD = {
    "opening": '"""What records."""',
    "opening of an attribute": 'X = 1\n"""Of each row its end."""',
    "third person": '"""Writes the page."""',
    "test name": "def test_what_is_gone(): ...",
    "nobody": "# Nobody reads it.",
    "told": "# The reader is told the reason.",
    "stands": "# The name stands in the first column.",
    "turn": "# The first turn of the loop.",
    "is to be": "# The text is to be short.",
    "such a": "# Such a tensor has no history.",
    "so many": "# At most so many rows.",
    "from now on": "# From now on it counts.",
    "is said": "# The reason is said once.",
    "of these the": "# Of these the first wins.",
    "rooms": "# The rooms of core.",
    "what-subject": '"""A row.\n\nIt is short. What follows it is its end.\n"""',
}

GOOD = '''"""Write the page."""

X = 1
"""The end of each row."""

# An integer: NumPy turns it into a float. It stands for the key, and stand-ins do too.


def test_missing_file_exits_with_2():
    """Return whether the file exists. What does it return? Notes: a list."""
'''


def rules(tmp_path: Path, source: str, suffix: str = ".py") -> list[str]:
    """The names of the rules that a file breaks."""
    file = tmp_path / f"file{suffix}"
    file.write_text(source, "utf-8")
    return [
        rule.name
        for text in texts(file, "scripts/file.py")
        for rule in RULES
        if text.kind in rule.kinds and rule.breaks(text.text)
    ]


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_a_rule_finds_its_words(rule: str, tmp_path: Path) -> None:
    assert rules(tmp_path, BAD[rule]) == [rule]


def test_good_words_break_no_rule(tmp_path: Path) -> None:
    assert rules(tmp_path, GOOD) == []


def test_code_on_a_page_is_not_prose(tmp_path: Path) -> None:
    page = "Nobody reads it.\n\n```python\n# nobody\n```\n\nThe word `nobody`.\n\n    nobody --help\n"
    assert rules(tmp_path, page, ".md") == ["nobody"]


def test_an_exception_without_a_reason_is_refused() -> None:
    assert exceptions("# a comment\nREADME.md | told | is told | the title of a poem\n")[0].rule == "told"
    with pytest.raises(ValueError, match="write `file"):
        exceptions("README.md | told | is told\n")


def test_a_finding_has_its_file_line_and_words() -> None:
    (finding,) = findings(Path(__file__), 'x = 1\n\n"""Of rows."""\n')
    assert finding[:2] == ("tests/test_plain_english.py", 3)
    assert (finding.rule.name, finding.words) == ("opening of an attribute", "Of rows.")
