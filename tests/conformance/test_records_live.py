"""Records are still PyTorch's answers: backtraces, call chains, worked examples, digests, tags of IValues."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import get_args

import pytest

from dispatchviz.core.record.events import IValueTag
from dispatchviz.explain.calls.whole_stack import BOXES, WRAPPED
from tests.amounts import in_turn
from tests.chains import PROGRAMS
from tests.chains import measured as chains
from tests.core.test_worked_examples import measured as examples
from tests.waiting import HANGS
from truth import records
from truth.questions.worked_examples import CALLS, STATES, TENSORS

torch = pytest.importorskip("torch")
INCLUDE = Path(torch.__file__).parent / "include"
ROOT = Path(__file__).parents[2]


@pytest.mark.record("backtraces")
@pytest.mark.long
@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the record is of Linux on x86-64"
)
@pytest.mark.pinned
def test_the_backtraces_are_those_of_the_record() -> None:
    from truth.recorders import backtraces

    try:
        taken = backtraces.taken()
    except backtraces.NoDebuggerError as error:
        pytest.skip(str(error))
    assert taken == records.read("backtraces")


@pytest.mark.record("call_chains")
@pytest.mark.parametrize("name", in_turn(sorted(chains()), 3))
def test_a_recorded_call_chain_is_still_true(name: str) -> None:
    from truth.recorders.call_chains import recorded

    found = recorded((PROGRAMS / f"{name}.py").read_text(encoding="utf-8"))
    assert found == chains()[name]


@pytest.mark.record("worked_examples")
def test_recorded_worked_examples_are_still_true() -> None:
    from truth.recorders import worked_examples as record

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: record.measured(call) for name, call in CALLS.items()}
    assert found == examples()["calls"]


@pytest.mark.record("worked_examples")
def test_recorded_tensors_and_thread_states_are_still_true() -> None:
    from truth.recorders import worked_examples as record

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = {name: record.key_set(record.given(), source) for name, source in TENSORS.items()}
        states = {name: record.noted(source) for name, source in STATES.items()}
    assert tensors == examples()["tensors"]
    assert states == examples()["states"]


@pytest.mark.record("source_digests")
def test_recorded_digests_are_those_of_the_sources() -> None:
    from truth.recorders import source_digests

    assert source_digests.data() == records.read("source_digests")


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
    """Run in a separate process, because it leaves a fallback behind that inspects the stacks."""
    command = [sys.executable, "-m", "truth.record", "--check", "stack_contents"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
