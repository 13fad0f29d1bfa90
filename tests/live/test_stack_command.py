"""``dispatchviz stack`` without a running program: missing parts, the choice of the operator and of its functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.cli.real_stack import child_python
from dispatchviz.cli.real_stack.elf_functions import functions_with
from dispatchviz.cli.real_stack.stopped_call import answer_in, layout_release, python_frames
from dispatchviz.cli.real_stack.stops import (
    inner_functions,
    kernel_at,
    kernels,
    operator_and_kernels,
    returns_by_address,
)
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.foundation.errors import DispatchvizError


@pytest.mark.parametrize("text", ["add", "torch.add", "aten::add.Tensor", "add.Tensor"])
def test_operator_is_found_as_it_is_typed(text: str) -> None:
    assert operator_and_kernels(text, None) == ("aten::add.Tensor", ())


def test_an_operator_of_the_program_is_taken_as_it_is() -> None:
    assert operator_and_kernels("mine::twice.default", None) == ("mine::twice", ())


@pytest.mark.parametrize(
    ("operator", "key", "said"),
    [
        ("addd", None, "there is no operator 'addd'"),
        ("add", "Autograd", "Autograd has no dispatch table entry of its own"),
        (
            "add",
            "AutocastCPU",
            "no kernel of aten::add.Tensor runs for AutocastCPU: its dispatch table entry falls through",
        ),
        ("randn", "AutogradCPU", "is autogradNotImplementedFallback, which gdb cannot find"),
        ("add", "Nowhere", "there is no dispatch key 'Nowhere'"),
        ("mine::twice", "CPU", "--key is for operators of PyTorch"),
    ],
)
def test_unknown_operator_or_kernel_is_refused(operator: str, key: str | None, said: str) -> None:
    with pytest.raises(DispatchvizError, match=said):
        operator_and_kernels(operator, key)


def test_key_selects_the_kernel() -> None:
    assert kernel_at("aten::add.Tensor", DispatchKey.AutogradCPU) == "VariableType::add_Tensor"
    assert kernel_at("aten::add.Tensor", DispatchKey.CPU) == "wrapper_CPU_add_Tensor"
    assert kernel_at("aten::add.Tensor", DispatchKey.Meta).startswith("torch::impl::dispatch::PythonKernelHolder")
    assert kernel_at("aten::linear", DispatchKey.CPU) == "wrapper_CompositeImplicitAutograd__linear"


def test_kernels_and_what_they_call() -> None:
    assert {"VariableType::sum", "wrapper_CompositeExplicitAutograd__sum"} <= set(kernels("aten::sum"))
    assert inner_functions("aten::sum") == ("at::native::sum",)
    assert "at::native::structured_mm_out_cpu::impl" in inner_functions("aten::mm")


@pytest.mark.parametrize(
    ("operator", "by_address"),
    [
        ("aten::add.Tensor", True),
        ("aten::view", True),
        ("aten::unbind.int", True),
        ("aten::topk", True),
        ("aten::add_.Tensor", False),
        ("aten::add.out", False),
        ("aten::__iand__.Tensor", False),
        ("aten::_backward", False),
        ("aten::topk.values", None),
        ("aten::item", None),
        ("aten::is_nonzero", None),
        ("mine::twice", None),
    ],
)
def test_return_by_address_is_recognized(operator: str, by_address: bool | None) -> None:
    assert returns_by_address(operator) is by_address


def test_a_traceback_of_a_crash_is_read() -> None:
    lines = [
        "Stack (most recent call first):",
        f'  File "{Path(__file__)}", line 3 in inner',
        '  File "/env/lib/python3.11/site-packages/torch/_ops.py", line 7 in __call__',
        '  File "<string>", line 2 in <module>',
    ]
    found = python_frames(lines)
    assert [frame.role for frame in found] == ["your code", "Python code", "your code"]
    assert (found[0].title, found[0].file) == ("line 2", "<string>:2")
    assert found[1].file == "torch/_ops.py:7"
    assert found[2].title == "inner: from __future__ import annotations"


def test_releases_whose_layout_is_ours_or_unknown_need_none() -> None:
    assert [layout_release(name) for name in ("2.6", "2.13", "3.0")] == ["2.6", None, None]


def test_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(b"MZ and more of it")
    with pytest.raises(DispatchvizError, match="is not a 64-bit ELF file"):
        functions_with(tmp_path / "lib.so", ["add"])


def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(child_python.NoDebuggerError, match=r"on Linux only.*lldb -- python SCRIPT.*--read FILE"):
        child_python.check_debugger()


def test_missing_gdb_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert main(["stack", "add", "program.py"]) == 2
    assert "there is no gdb on the PATH" in capsys.readouterr().err


def test_crash_of_gdb_is_one_clear_error(tmp_path: Path) -> None:
    log = tmp_path / "gdb.log"
    log.write_text(
        "internal-error: ...\nThis is a bug, please report it.  For instructions, see:\n<https://gnu.org>.\n"
    )
    with pytest.raises(DispatchvizError, match=r"^gdb itself crashed"):
        answer_in(tmp_path / "answer.json", log)


def test_python_without_pytorch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DispatchvizError, match=r"cannot run .*nowhere: No such file"):
        child_python.child_python(str(tmp_path / "nowhere"))
    no_torch = tmp_path / "python"
    no_torch.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    no_torch.chmod(0o755)
    with pytest.raises(DispatchvizError, match=r"this needs a real PyTorch, and .* finds none: .*--python"):
        child_python.child_python(str(no_torch))
