"""The Python that runs the program: where it is and which PyTorch it finds, without importing that PyTorch."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from dispatchviz.foundation.errors import DispatchvizError

_QUESTION = """
import importlib.util, json, re, sys
from pathlib import Path
sys.path[:1] = []
spec = importlib.util.find_spec("torch")
folder = spec and spec.submodule_search_locations and list(spec.submodule_search_locations)[0]
file = Path(folder or ".") / "version.py"
found = folder and file.is_file() and re.search(r"__version__ = '([^']+)'", file.read_text())
print(json.dumps({"executable": sys.executable, "folder": folder or "", "version": found[1] if found else ""}))
"""


class ChildPython(NamedTuple):
    """An interpreter and its PyTorch."""

    executable: str
    folder: Path
    """The folder of the package ``torch``."""
    version: str

    @property
    def release(self) -> str:
        """The release without its patch number: ``2.13``."""
        return ".".join(self.version.split(".")[:2])


class NoDebuggerError(DispatchvizError):
    """An error because there is no gdb here, or gdb may not attach to a program."""


def check_debugger() -> str:
    """Return the path of gdb. Raise NoDebuggerError, with what to do, if the C++ stack cannot be read here."""
    if sys.platform != "linux":
        raise NoDebuggerError(
            f"dispatchviz stack drives gdb, on Linux only; this is {platform.system()}. Take the backtrace with its "
            "own debugger (lldb -- python SCRIPT; bt), then run dispatchviz stack --read FILE"
        )
    found = shutil.which("gdb")
    if found is None:
        raise NoDebuggerError(
            "there is no gdb on the PATH, which dispatchviz stack needs: install it, for example with apt install gdb, "
            "dnf install gdb or conda install -c conda-forge gdb"
        )
    return found


def child_python(python: str) -> ChildPython:
    """Describe an interpreter and its PyTorch. Raise DispatchvizError if it does not run or finds no PyTorch."""
    try:
        ran = subprocess.run([python, "-c", _QUESTION], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise DispatchvizError(f"cannot run {python}: {error.strerror}") from None
    try:
        answer = json.loads(ran.stdout)
    except ValueError:
        last = ran.stderr.strip().rpartition("\n")[2]
        raise DispatchvizError(f"{python} is not a Python that runs: {last or 'it printed nothing'}") from None
    if not answer["version"]:
        raise DispatchvizError(
            f"this needs a real PyTorch, and {answer['executable']} finds none: name the Python of an environment that "
            "has one with --python"
        )
    return ChildPython(answer["executable"], Path(answer["folder"]), answer["version"])
