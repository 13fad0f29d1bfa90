"""gdb on the installed PyTorch: the frames of one call, in an undisturbed program."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.cli.real_stack.child_python import child_python
from dispatchviz.cli.real_stack.stops import stops_of
from tests.cli.command import Ended, dispatchviz, script
from tests.live.test_pasted_backtraces import WITHIN_ADD
from tests.waiting import HANGS

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.pinned,
    pytest.mark.torch,
    pytest.mark.long,
    pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="Linux on x86-64 alone"),
]


def gdb_calls_functions() -> bool:
    """Return whether gdb can write all registers of a program, as a call of one of its functions does. gdb 13 cannot
    where the processor has AMX.
    """
    asked = ["gdb", "-batch", "-nx", "-ex", "starti", "-ex", "set $mxcsr = $mxcsr ^ 0x20", "true"]
    found = (
        subprocess.run(asked, capture_output=True, text=True, timeout=HANGS, check=False)
        if shutil.which("gdb")
        else None
    )
    return found is None or "extended state" not in found.stderr


has_python_lines = pytest.mark.skipif(not gdb_calls_functions(), reason="this gdb calls no functions on this processor")

PROGRAM = """\
import os
import sys
import torch

def add(a, b):
    return torch.add(a, b)

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)
print("out", sys.argv[1:], sys.stdin.read())
print("err", file=sys.stderr)
add(x, y)
add(y, y)
torch.ops.aten.sin.default(x)
lib = torch.library.Library("mine", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: x * 2, "CPU")
torch.ops.mine.twice(y)
try:
    torch.mm(torch.ones(2, 3), torch.ones(2, 3))
except RuntimeError:
    torch.mm(y, y)
if "crash" in sys.argv:
    os.abort()
sys.exit(7)
"""


@cache
def forbidden() -> str:
    """Return the reason why gdb can watch nothing here; empty if it can."""
    if shutil.which("gdb") is None:
        return "there is no gdb"
    command = ["gdb", "-nx", "-q", "-batch", "-ex", "run", "--args", "/bin/true"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if "exited normally" in said.stdout else f"gdb may not watch a program: {said.stderr[-200:]}"


@pytest.fixture
def stack(tmp_path: Path) -> Any:
    """Return a function that runs ``dispatchviz stack`` on the program."""
    if why := forbidden():
        pytest.skip(why)
    name = script(tmp_path, PROGRAM)

    def run(*options: str, arguments: tuple[str, ...] = ("a b", "c'd")) -> Ended:
        return dispatchviz("stack", *options, name, *arguments, cwd=tmp_path, given=b"in")

    return run


def frames(ended: Ended) -> list[dict[str, Any]]:
    return list(json.loads(ended.out)["frames"])


def of_pytorch(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["role"], each["title"]) for each in found if each.get("is_pytorchs")]


@has_python_lines
def test_the_frames_of_a_call_with_lines_files_and_key_sets(stack: Any) -> None:
    found = frames(stack("add", "--json"))
    assert of_pytorch(found) == WITHIN_ADD
    lines = [(each["title"], each["file"]) for each in found if each["role"] == "your code"]
    assert lines == [("add(x, y)", "program.py:12"), ("add: return torch.add(a, b)", "program.py:6")]
    keys = {(each["title"], *(tuple(one["keys"]) for one in each["sets"])) for each in found if each.get("sets")}
    assert keys == {
        ("c10::impl::wrap_kernel_functor_unboxed_::call", ("AutogradCPU", "CPU")),
        ("VariableType::add_Tensor", ("AutogradCPU", "CPU")),
        ("at::_ops::add_Tensor::redispatch", ("CPU",)),
        ("c10::impl::wrap_kernel_functor_unboxed_::call", ("CPU",)),
    }


def test_the_program_is_as_without_a_debugger(stack: Any) -> None:
    ended = stack("add")
    assert ended.status == 7
    assert ended.out.startswith("out ['a b', \"c'd\"] in\ncall 1 of aten::add.Tensor, PyTorch ")
    assert ended.err == "err\n"


def test_program_has_its_own_environment_and_streams(tmp_path: Path) -> None:
    if why := forbidden():
        pytest.skip(why)
    text = "import json, os\nprint(json.dumps([dict(os.environ), sorted(os.listdir('/proc/self/fd'))]))\n"
    name = script(tmp_path, text)
    plain = subprocess.run(
        [sys.executable, name], cwd=tmp_path, capture_output=True, check=True, stdin=subprocess.PIPE, env={**os.environ}
    )
    watched = dispatchviz("stack", "add", name, cwd=tmp_path)
    assert (
        watched.err
        == "dispatchviz: program.py ended without loading PyTorch, so there was no call of aten::add.Tensor\n"
    )
    assert watched.status == 1
    alone = [json.loads(plain.stdout), json.loads(watched.out)]
    for environment, _ in alone:
        for name in ("_", "PWD", "OLDPWD", "SHLVL"):  # what a shell sets, if any shell has been between
            environment.pop(name, None)
    assert alone[0] == alone[1]


@has_python_lines
def test_number_selects_another_call(stack: Any) -> None:
    found = frames(stack("add.Tensor", "--call", "2", "--json"))
    assert next(each["title"] for each in found if each["role"] == "your code") == "add(y, y)"
    ended = stack("add.Tensor", "--call", "3")
    assert ended.err == "err\ndispatchviz: program.py called aten::add.Tensor twice, so there is no call 3\n"
    assert ended.status == 7


def test_a_call_that_comes_boxed(stack: Any) -> None:
    roles = [role for role, _ in of_pytorch(frames(stack("sin", "--json")))]
    assert roles[-7:] == [
        "dispatcher", "unboxing", "autograd kernel", "operator", "adapter", "backend kernel", "impl function",
    ]  # fmt: skip


def test_a_kernel_in_python_of_an_operator_of_the_program(stack: Any) -> None:
    found = frames(stack("mine::twice", "--json"))
    assert of_pytorch(found)[-1] == ("calls Python", "torch::impl::dispatch::PythonKernelHolder::operator()")
    assert found[-1]["sets"][0]["keys"] == ["CPU"]


def test_key_selects_the_kernel(stack: Any) -> None:
    assert of_pytorch(frames(stack("add", "--key", "AutogradCPU", "--json"))) == WITHIN_ADD[:4]
    ended = stack("add", "--key", "SparseCPU")
    assert "never reached wrapper_SparseCPU_Tensor_add; it reached at::_ops::add_Tensor::call, " in ended.err


@has_python_lines
def test_a_call_that_raises_is_one(stack: Any) -> None:
    first, second = frames(stack("mm", "--json")), frames(stack("mm", "--call", "2", "--json"))
    assert [each["title"] for each in first if each["role"] == "your code"] == [
        "torch.mm(torch.ones(2, 3), torch.ones(2, 3))"
    ]
    assert of_pytorch(second)[-1] == ("impl function", "structured_mm_out_cpu::impl")


def test_operator_that_is_never_called_is_reported(stack: Any) -> None:
    ended = stack("cos")
    assert ended.err == "err\ndispatchviz: program.py ended without a call of aten::cos\n"
    assert ended.status == 7


@has_python_lines
def test_a_crash_is_shown(stack: Any) -> None:
    ended = stack("cos", arguments=("crash",))
    assert ended.status == 128 + 6
    assert "SIGABRT: the program crashed here" in ended.out
    assert "os.abort()  program.py:24" in ended.out


def test_stops_are_at_functions_of_the_operator_alone() -> None:
    stops = stops_of("aten::add.Tensor", child_python(sys.executable).folder)
    assert {stop.title for stop in stops if stop.kind == "call"} == {"at::_ops::add_Tensor::call"}
    inner = {stop.title for stop in stops if stop.kind == "inner"}  # a build with CUDA also has one for CUDA
    assert "at::native::structured_ufunc_add_CPU::impl" in inner
    assert inner <= {f"at::native::structured_ufunc_add_{backend}::impl" for backend in ("CPU", "CUDA")}
    titles = {stop.title for stop in stops if stop.kind == "kernel"}
    assert {"VariableType::add_Tensor", "wrapper_CPU_add_Tensor", "TraceType::add_Tensor"} <= titles
    assert len({stop.offset for stop in stops if stop.title == "wrapper_CPU_add_Tensor"}) == 3  # and its two adapters


def test_missing_gdb_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = dispatchviz("stack", "add", script(tmp_path, PROGRAM), cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("dispatchviz: there is no gdb on the PATH")
    assert "apt install gdb" in ended.err
    assert os.environ["PATH"] == str(tmp_path)


SLEEPING = "import os, time, torch\nprint(os.getpid(), flush=True)\ntorch.ones(2) + 1\ntime.sleep(1000)\n"


def test_ending_the_command_ends_the_program_too(tmp_path: Path) -> None:
    if why := forbidden():
        pytest.skip(why)
    command = [sys.executable, "-m", "dispatchviz", "stack", "add", script(tmp_path, SLEEPING)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        process.terminate()
        assert process.wait(HANGS) == -signal.SIGTERM
        assert process.stdout.read() == "", "the stream ends when no process has it any more, so the program has ended"
