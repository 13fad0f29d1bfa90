"""The base class of the package's own errors: the command line prints their text as one line and exits with 2.

What PyTorch raises too has PyTorch's class and text and is none of these.
"""

from __future__ import annotations


class DispatchvizError(Exception):
    """A wrong input or a missing thing; the text says which, and what to do."""
