"""``backend.detect`` itself, in processes that find a CuPy, a broken one, or none."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed_cupy import STAND_IN, install

ROOT = Path(__file__).parents[2]


def says(folder: Path, code: str = "", flags: tuple[str, ...] = ()) -> str:
    """What a process prints that finds first what is in a folder."""
    code = code or "from dispatchviz.core.device import array_library as a; f, why = a.detect(); print(bool(f), why)"
    path = os.pathsep.join([str(folder), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, *flags, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_cupy_that_works_is_taken(tmp_path: Path) -> None:
    install(tmp_path)
    assert says(tmp_path) == "True stand-in"
    header = (
        "import dispatchviz.torch as torch, dispatchviz\nwith dispatchviz.record() as t: torch.ones(1).to('cuda')\n"
    )
    assert says(tmp_path, f"{header}print(t.header.cuda)") == "CuPy on stand-in"


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there is a CuPy here")
def test_without_cupy(tmp_path: Path) -> None:
    assert says(tmp_path) == "False CuPy is not installed"


BROKEN = {
    "raise ImportError('libcuda.so.1: cannot open shared object file\\nmore')": (
        "CuPy does not work here: ImportError: libcuda.so.1: cannot open shared object file"
    ),
    "raise RuntimeError": "CuPy does not work here: RuntimeError",
    "is_available = lambda: False": "no usable GPU",
    "pass": "CuPy does not work here: AttributeError: module 'cupy' has no attribute 'is_available'",
    f"{STAND_IN}\ndef ones(n): raise OSError('cudaErrorInsufficientDriver')\ncupy.ones = ones": (
        "CuPy does not work here: OSError: cudaErrorInsufficientDriver"
    ),
    f"{STAND_IN}\ncupy.ones = cupy.zeros": "CuPy does not work here: 1 + 1 is 0",
}


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("flags", [(), ("-O",)], ids=["", "-O"])
def test_a_cupy_that_does_not_work_has_a_reason(text: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    install(tmp_path, text)
    assert says(tmp_path, flags=flags) == f"False {BROKEN[text]}"


def test_the_real_one_is_tried_when_nothing_is_replaced() -> None:
    """The same answer in this process as in a fresh one."""
    from dispatchviz.core.device.array_library import detect

    module, reason = detect()
    assert says(ROOT) == f"{module is not None} {reason}"
