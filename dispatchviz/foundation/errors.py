"""The base class of the package's own errors. The command line prints their message as one line and exits with
``status``.

Errors that PyTorch raises too have PyTorch's class and message and do not derive from it.
"""

from __future__ import annotations


class DispatchvizError(Exception):
    """An invalid input or a missing dependency. The message says which one, and what to do."""

    status = 2
    """The exit status of a command that fails with this error."""


class EndedBySignal(SystemExit):
    """A signal asked the process to end. After cleaning up, the command line dies by the same signal."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number
