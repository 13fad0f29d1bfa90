"""What is done otherwise in releases that do not hand out their kernels (``make test-releases``)."""

from __future__ import annotations

import threading
from io import StringIO
from pathlib import Path

import pytest

from dispatchviz import program
from dispatchviz.engines import engine_named
from dispatchviz.live.installed_torch import installed_torch
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.registration import UNKNOWN_FILE

pytestmark = pytest.mark.torch

PROGRAM = """
import threading, torch
def rows():
    return sum(": registered at {file}:0 ::" in row for row in torch._C._dispatch_dump("aten::mul.Tensor").splitlines())
found = [rows()]
for _ in range({threads}):
    thread = threading.Thread(target=lambda: found.append(rows()))
    thread.start()
    thread.join()
    found.append(rows())
print(*[count > 0 for count in found])
"""


def test_no_kernel_is_watched_while_a_thread_runs(tmp_path: Path) -> None:
    """And the program finds PyTorch and ``threading`` as they were."""
    if hands_out_kernels(installed_torch()._C):
        pytest.skip("kernels stay in their cells")
    file, output, before = tmp_path / "threads.py", StringIO(), dict(vars(threading))
    file.write_text(PROGRAM.format(file=UNKNOWN_FILE, threads=4))
    program.run(str(file), output=output, engine=engine_named("torch"))
    assert output.getvalue().split() == ["True", *["False", "True"] * 3, "False", "False"]
    assert {name: vars(threading)[name] for name in before} == before
