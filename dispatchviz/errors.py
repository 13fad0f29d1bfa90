"""The base class of the package's own errors: the command line prints their text as one line and exits with 2.

What PyTorch raises too has PyTorch's class and text and is none of these.
"""

from __future__ import annotations


class DispatchvizError(Exception):
    """An invalid input or a missing dependency; the message has which one, and what to do."""
