"""The comparison of a typed answer with the right one."""

from __future__ import annotations

import re


def normal(text: str) -> str:
    """Return a text without the differences that do not count: case, spaces, quotes, kinds of brackets and those around
    everything, ``4`` and ``4.0``, True and yes. ``outputs/page/assets/asking.js`` does the same in a page.
    """
    plain = re.sub(r"[\s'\"`]", "", text.lower()).translate(_BRACKETS)
    plain = re.sub(r"^(?:torch\.size|tensor)?\[+(.*?)\]+$", r"\1", plain)
    plain = re.sub(r"(\.\d*?)0+(?!\d)", r"\1", plain)
    plain = re.sub(r"\.(?!\w)", "", plain)
    return _SYNONYMS.get(plain, plain)


_BRACKETS = str.maketrans("()", "[]")
_SYNONYMS = {"true": "yes", "false": "no"}
