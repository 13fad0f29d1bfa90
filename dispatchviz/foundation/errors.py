"""The base class of the package's own errors: the command line prints their text as one line and exits with ``status``.

What PyTorch raises too has PyTorch's class and text and is none of these.
"""

from __future__ import annotations


class DispatchvizError(Exception):
    """An invalid input or a missing dependency; the message has which one, and what to do."""

    status = 2
    """The exit status of a command that ends with it."""


class EndedBySignal(SystemExit):
    """A signal asked the process to end, and what had to be put in order is; the command line then dies by it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number
