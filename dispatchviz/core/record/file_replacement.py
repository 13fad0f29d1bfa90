"""Atomic replacement of a file: written beside its path, then renamed.

If anything fails (a full disk, Ctrl+C), the previous file is unchanged.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast


class Replacement:
    """A file that replaces another, or none, when it is complete.

    A symbolic link is kept, and its target is replaced. A replaced file keeps its permissions. A file that may not be
    written is not replaced. If the target is not a regular file (``/dev/null``, a pipe), it is written to at the end.
    """

    def __init__(self, path: str | Path, beside: str | None = None) -> None:
        """Open the file. Raise OSError, before anything is changed, if it cannot be written.

        ``beside`` is its name until it is complete, in the same folder. Without one it is hidden.
        """
        self.target = os.path.realpath(path)
        self._mode = _mode_of(self.target)
        self._in_place = self._mode is not None and not stat.S_ISREG(self._mode)
        folder = tempfile.gettempdir() if self._in_place else os.path.dirname(self.target)
        self.path = os.path.join(folder, beside or f".dispatchviz-{os.urandom(6).hex()}.tmp")
        """The current path."""
        self.stream = cast(BinaryIO, open(self.path, "xb", buffering=0))  # noqa: SIM115

    def move(self, path: str | Path, beside: str) -> None:
        """Change the target, in the same folder, and the name until the file is complete. Raise OSError and change
        nothing if that fails.
        """
        target = os.path.realpath(path)
        mode, moved = _mode_of(target), os.path.join(os.path.dirname(self.path), beside)
        os.rename(self.path, moved)
        self.target, self.path, self._mode = target, moved, mode

    def commit(self) -> None:
        """Replace the target. Raise OSError and leave both files unchanged if that fails."""
        self.stream.close()
        if self._in_place:
            with open(self.path, "rb") as source, open(self.target, "wb") as sink:
                shutil.copyfileobj(source, sink)
            os.unlink(self.path)
            return
        if self._mode is not None:
            os.chmod(self.path, stat.S_IMODE(self._mode))
        os.replace(self.path, self.target)

    def discard(self) -> None:
        """Remove the file if it still exists."""
        self.stream.close()
        if os.path.lexists(self.path):
            os.unlink(self.path)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces a file if the block succeeds. Raise OSError if that fails."""
    replacement = Replacement(path)
    try:
        yield replacement.stream
        replacement.commit()
    except BaseException:
        replacement.discard()
        raise


def write_whole(path: str | Path, data: bytes) -> None:
    """Create or replace a file. Raise OSError, before anything is changed, if that fails."""
    with replacing(path) as stream:
        left = memoryview(data)
        while left:  # an unbuffered file may take less than all
            left = left[stream.write(left) :]


def check_writable(path: str | Path) -> None:
    """Raise the OSError that ``write_whole`` would raise, as far as it can be known beforehand."""
    target = os.path.realpath(path)
    mode = _mode_of(target)
    folder = os.path.dirname(target)
    if mode is None or stat.S_ISREG(mode):
        os.stat(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def _mode_of(target: str) -> int | None:
    """The mode of an existing file; None if there is none. Raise OSError for a folder and a read-only file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return mode
