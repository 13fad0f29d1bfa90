"""The stack contents of boxed calls in an installed PyTorch: the tag and the value of each ``IValue``.

A fallback in C++ reads them (``truth/observers/stack_contents.cpp``), which is compiled here against PyTorch's headers.
For each call of ``truth/questions/stack_contents.py`` the file lists the called operators with their arguments and
returns, each as tag and value: for a tensor whether it is defined, for a float its hexadecimal text.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.stack_contents import BEFORE, CALLS

SOURCE = Path(__file__).parents[1] / "observers" / "stack_contents.cpp"


def observer() -> ctypes.CDLL:
    """The compiled and loaded fallback. Raise CalledProcessError if there is no suitable compiler."""
    installed = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "stack_contents.so"
        include = [f"-I{installed / 'include' / part}" for part in ("", "torch/csrc/api/include")]
        linked = [f"-L{installed / 'lib'}", "-ltorch_cpu", "-lc10"]
        subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", *include, SOURCE, "-o", made, *linked], check=True)
        library = ctypes.CDLL(str(made))
    library.watch_ends.restype = ctypes.c_char_p
    return library


def everything() -> dict[str, Any]:
    """The stacks of each call."""
    library, names = observer(), {}
    found = {}
    exec(BEFORE, names)
    for name, statement in CALLS.items():
        library.watch_begins()
        exec(statement, names)
        found[name] = [json.loads(line) for line in library.watch_ends().decode().splitlines()]
    return found


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "stack_contents.json", json_text(everything())
