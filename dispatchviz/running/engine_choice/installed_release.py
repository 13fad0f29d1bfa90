"""Facts about the installed PyTorch that its files show, so that nothing of it is imported."""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from dispatchviz.live.installed_torch import OLDEST, build_text, release

GPUS = {"cuda": ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"), "hip": ("/dev/kfd",)}
"""The files of which one exists where a build for CUDA or ROCm finds a GPU."""

HIDDEN = ("", "-1")
"""Values of CUDA_VISIBLE_DEVICES that hide every GPU."""


class InstalledRelease(NamedTuple):
    """An installed PyTorch."""

    number: str
    """Its release: ``2.14.1``."""
    recordable: bool
    """True if dispatchviz can record it."""
    has_gpu: bool
    version: str = ""
    """Its release with the kind of build: ``2.14.1+cpu``."""
    build: str = ""
    """The description of the build (``build_text``)."""


def installed_release() -> InstalledRelease | None:
    """Return the installed PyTorch, None if there is none."""
    spec = PathFinder.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = Path(spec.origin).with_name("version.py").read_text("utf-8")
    except OSError:  # another module called torch
        return None
    version = _value("__version__", text)
    number = version.partition("+")[0]
    if not number:
        return None
    return InstalledRelease(number, release(number) >= OLDEST, _has_gpu(text), version, _build(version, text))


def _build(version: str, text: str) -> str:
    kinds = {kind: _value(kind, text) for kind in ("cuda", "hip", "xpu")}
    debug = re.search(r"^debug\b[^=\n]*= True", text, re.MULTILINE) is not None
    return build_text(SimpleNamespace(__version__=version, version=SimpleNamespace(**kinds, debug=debug)))


def _value(name: str, version: str) -> str:
    """Return a value in PyTorch's ``version.py``; empty if it is None."""
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]*)['\"]", version, re.MULTILINE)
    return match[1] if match else ""


def _has_gpu(version: str) -> bool:
    if os.environ.get("CUDA_VISIBLE_DEVICES") in HIDDEN:
        return False
    return any(_value(build, version) and any(map(os.path.exists, files)) for build, files in GPUS.items())
