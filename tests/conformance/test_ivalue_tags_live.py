"""The tags of IValues are PyTorch's; what is said of pushing is in its header."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from dispatchviz.core.record.events import IValueTag
from dispatchviz.explain.calls.whole_stack import BOXES, WRAPPED
from tests.waiting import HANGS

torch = pytest.importorskip("torch")
INCLUDE = Path(torch.__file__).parent / "include"
ROOT = Path(__file__).parents[2]


def test_every_tag_is_one_of_pytorchs() -> None:
    text = (INCLUDE / "ATen/core/ivalue.h").read_text(encoding="utf-8")
    [macro] = re.findall(r"#define TORCH_FORALL_TAGS\(_\)((?:.*\\\n)*.*)", text)
    tags = set(re.findall(r"_\((\w+)\)", macro))
    assert tags >= {*get_args(IValueTag)}
    assert not {"IntList", "DoubleList", "TensorList", "Scalar"} & tags


def test_arguments_are_pushed_by_the_function_that_is_named() -> None:
    text = (INCLUDE / WRAPPED.file.removeprefix("aten/src/")).read_text(encoding="utf-8")
    function = BOXES.split()[0].rpartition("::")[2]
    assert re.search(rf"^torch::jit::Stack {function}\(", text, re.MULTILINE)


@pytest.mark.long
@pytest.mark.record("stack_contents")
@pytest.mark.skipif(shutil.which("g++") is None, reason="what looks at the stacks is compiled")
@pytest.mark.pinned
def test_the_stacks_of_boxed_calls_hold_what_the_record_has() -> None:
    """In a process of its own, which keeps the fallback that looks at them."""
    command = [sys.executable, "-m", "truth.record", "--check", "stack_contents"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
