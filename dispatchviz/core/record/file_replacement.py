"""Atomic replacement of a file: written beside its path, then renamed.

Whatever goes wrong on the way (a full disk, Ctrl+C), the file that was there before is as it was.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path


def write_whole(path: str | Path, data: bytes) -> None:
    """Makes or replaces a file. Raises OSError, before anything is changed, if that cannot be done.

    A symbolic link stays one: what it leads to is replaced. A replaced file keeps its permissions, and one that may
    not be written is not replaced either. What is no regular file (``/dev/null``, a pipe) is written to.
    """
    target = os.path.realpath(path)
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as stream:
            stream.write(data)
        return
    beside = os.path.join(os.path.dirname(target), f".dispatchviz-{secrets.token_hex(6)}.tmp")
    try:
        with open(beside, "xb") as stream:
            stream.write(data)
        if mode is not None:
            os.chmod(beside, stat.S_IMODE(mode))
        os.replace(beside, target)
    except BaseException:
        if os.path.lexists(beside):
            os.unlink(beside)
        raise


def check_writable(path: str | Path) -> None:
    """Raises the OSError that ``write_whole`` would, as far as that can be checked beforehand."""
    target = os.path.realpath(path)
    mode = _mode_of(target)
    folder = os.path.dirname(target)
    if mode is None or stat.S_ISREG(mode):
        os.stat(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def _mode_of(target: str) -> int | None:
    """The mode of an existing file; None if there is none. Raises OSError for a folder and a read-only file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return mode
