"""The rules: a pattern, the kinds of text that it holds for, and the advice that a failure prints."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["docstring", "attribute", "comment", "string", "page", "script", "test name"]
"""``attribute`` is a docstring below a value, ``page`` Markdown without its code, ``script`` a line of JavaScript or
HTML, ``string`` a text with a blank in it."""

PROSE: frozenset[Kind] = frozenset({"docstring", "attribute", "comment", "string", "page", "script"})


class Rule(NamedTuple):
    """A pattern for texts of some kinds."""

    name: str
    pattern: re.Pattern[str]
    kinds: frozenset[Kind]
    advice: str

    def breaks(self, text: str) -> re.Match[str] | None:
        """The first place of a text that breaks the rule. A rule for some kinds looks only at the beginning."""
        return self.pattern.search(text) if self.kinds == PROSE else self.pattern.match(text)


def _word(name: str, pattern: str, advice: str) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), PROSE, advice)


_VAGUE = "What|Whether|Of|Who|Whose|Whom|Why|Nothing|Nobody|Something|Somebody|Whatever|Whoever|Told|Asked"
_FRAGMENTS = (
    "How|Where|When|While|Which|That|Those|Such|Into|In|As|With|By|From|Without|Inside|For|Over|To|On|At|Around|Between|Along"
    "|Until|Up|Through|Against|Like|Also|Else|And|Or|So|It|Its|Their|They|He"
)
_VERBS = (
    "adds|appends|applies|asks|begins|blocks|builds|calls|changes|chooses|clears|closes|collects|compares|completes|computes"
    "|converts|copies|counts|creates|cuts|defines|deletes|divides|does|draws|drops|emits|ends|enters|fills|finds|finishes|fits"
    "|folds|follows|forgets|gives|goes|hands|handles|has|hides|imports|installs|intercepts|joins|keeps|lets|lists|loads|looks"
    "|makes|marks|moves|names|notes|opens|packs|paints|parses|pops|presses|prints|prunes|pushes|puts|queues|raises|reads"
    "|records|reduces|refuses|registers|removes|repeats|replaces|returns|runs|says|sends|sets|shows|splits|starts|stops|swaps"
    "|switches|takes|tells|tries|turns|undoes|unfolds|unpacks|unwraps|updates|waits|warns|wraps|writes"
)
_OBJECT = (
    "a|an|the|it|its|each|all|every|both|them|this|that|these|those|what|whether|how|which|no|any|up|out|back|off|in"
)

RULES = (
    Rule(
        "opening",
        re.compile(rf"(?:{_VAGUE}|{_FRAGMENTS})\b(?! ?[:`])"),
        frozenset({"docstring"}),
        "begin with an imperative verb, or with a noun phrase that names the thing",
    ),
    Rule(
        "opening of an attribute",
        re.compile(rf"(?:{_VAGUE})\b(?! ?[:`])"),
        frozenset({"attribute"}),
        "begin with a noun phrase that names the thing",
    ),
    Rule(
        "third person",
        re.compile(rf"(?:{_VERBS}) (?:(?:{_OBJECT})\b|``)", re.IGNORECASE),
        frozenset({"docstring"}),
        "begin with the imperative: Write, not Writes",
    ),
    Rule(
        "test name",
        re.compile(
            r"test_(?:what(?!_if)|of|whoever|nobody|who|whose|whatever|that|those)_"
            r"|.*_(?:told|tells|stands|nobody|is_said|are_said|said|turns|so_many|whoever|is_to_be|are_to_be|is_so)(?:_|$)"
        ),
        frozenset({"test name"}),
        "name a condition and its result",
    ),
    _word("nobody", r"\bnobody\b|\bwhoever\b", "name the person or the thing, or use no, none, anyone"),
    _word("told", r"\btold\b|\btells\b|\btell(?:s|ing)? of\b", "report, record, show"),
    _word("stands", r"\bstands?\b(?!-| for\b| in for\b)", "is"),
    _word(
        "turn",
        r"\b(?:each|every|first|last|next|second|third|later|of the|per|a|\d) turns?\b|\bturns of\b",
        "iteration",
    ),
    _word("is to be", r"\b(?:is|are|was|were) to be\b", "should, must, will"),
    _word("such a", r"\bsuch an?\b", "this, a ... like it"),
    _word("so many", r"\bso many\b(?! that\b)", "the number"),
    _word("from now on", r"\bfrom now on\b", "say what happens"),
    _word("is said", r"\b(?:is|are|was|were) said\b|\bsaid of\b|\bwhat is so\b", "say who says it, or show it"),
    _word("of these the", r"\b[Oo]f (?:these|those) (?:the|only)\b", "the first of these"),
    _word("rooms", r"\brooms\b", "package, folder; classroom"),
    _word("what-subject", r"[.!?] What (?!(?:is|are|does|do|did|happens) )[^?]*?\.(?: |$)", "name the thing first"),
)
