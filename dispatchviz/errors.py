"""The error that is the user's to mend: the command line prints its text as one line and exits with 2."""

from __future__ import annotations


class DispatchvizError(Exception):
    """A wrong input or a missing thing; the text says which, and what to do."""
