"""Operators by the names that people type, in all known releases."""

from __future__ import annotations

from dispatchviz.explain.cells.operator_names import Found, find_operator, means_one
from dispatchviz.explain.cells.releases.release import Release, all_releases, release_named
from dispatchviz.explain.cells.releases.release_keys import whereabouts
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.pytorch_release import MINOR


def in_other_releases(text: str, release: Release | None) -> str:
    """Return the message that a release (None: the model's) does not have an operator that others have; empty if none
    has it.
    """
    asked = release or release_named(MINOR)
    found = whereabouts(asked, lambda other: means_one(text, other.text.lines))
    return f"PyTorch {asked.minor} has no operator {text!r}: {found}" if found else ""


def operator_in_any(text: str) -> Found:
    """Return the operator that a text means in the newest release that has it. Raise DispatchvizError if it is unknown
    or ambiguous there.
    """
    *older, newest = all_releases()
    for release in (newest, *reversed(older)):
        if means_one(text, release.text.lines):
            return find_operator(text, release.text.lines)
    raise DispatchvizError(f"no release from {older[0].minor} to {newest.minor} has an operator {text!r}")
