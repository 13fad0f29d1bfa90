"""Whether the stored answers still are what PyTorch says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.record("native_kernels")]


@pytest.mark.long
@pytest.mark.pinned
def test_the_stored_answers_are_pytorchs() -> None:
    pytest.importorskip("torch")
    check = [sys.executable, "-m", "truth.record", "--check", "native_kernels"]
    found = subprocess.run(check, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
