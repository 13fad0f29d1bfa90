"""Examples have the same output and the same end on the model and on PyTorch."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.running.program import run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["collective_overlap", "inplace_error"])
def test_an_example_runs_the_same_on_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    script, output = f"examples/{name}.py", io.StringIO()
    outcome = run(script, (), output)
    real = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (outcome.status, output.getvalue()) == (real.returncode, real.stdout)
    assert real.stderr.strip().rpartition("\n")[2].partition(": ")[2] in outcome.error_message
