"""Backtraces as people paste them: frames have the roles of the model's stack, key sets are decoded, and the rest is
kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.explain.calls.backtraces.cpp_names import plain_name, wrapped_function
from dispatchviz.explain.calls.backtraces.function_roles import known_function
from dispatchviz.explain.calls.backtraces.native_frames import NativeFrame, native_frames, numbered
from dispatchviz.explain.calls.backtraces.pasted_backtraces import read_backtraces
from dispatchviz.explain.calls.call_stack import Frame
from dispatchviz.explain.calls.folded_frames import OUTSIDE, folded
from dispatchviz.foundation.errors import DispatchvizError
from scripts.backtraces import our_frames
from truth import records
from truth.questions.backtraces import CASES

FOLDER = Path(__file__).parent / "backtraces"

WITHIN_ADD = [
    ("binding", "THPVariable_add"),
    ("operator", "at::_ops::add_Tensor::call"),
    ("adapter", "c10::impl::wrap_kernel_functor_unboxed_::call"),
    ("autograd kernel", "VariableType::add_Tensor"),
    ("operator", "at::_ops::add_Tensor::redispatch"),
    ("adapter", "c10::impl::wrap_kernel_functor_unboxed_::call"),
    ("backend kernel", "wrapper_CPU_add_Tensor"),
    ("impl function", "structured_ufunc_add_CPU::impl"),
]
"""The frames of torch.add in a release build, outermost first."""


def stacks(name: str, release: str | None = None) -> list[tuple[NativeFrame, ...]]:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    return [native_frames(each.frames, release) for each in read_backtraces(text)]


def numbers(frames: tuple[NativeFrame, ...]) -> dict[int, NativeFrame]:
    return {frame.number: frame for frame in frames if frame.number is not None}


# -- gdb --------------------------------------------------------------------------------------------------------------


def test_backtrace_of_a_release_build_in_gdb_is_read() -> None:
    (frames,) = stacks("gdb_release")
    assert [(frame.role, frame.title) for frame in frames if frame.is_pytorchs] == WITHIN_ADD
    assert [frame.number for frame in frames] == list(range(28, -1, -1)), "every frame is kept, outermost first"
    assert {frame.role for frame in frames if not frame.is_pytorchs} == {"Python", "not PyTorch's"}
    assert [frame.library for frame in frames if frame.role == "binding"] == ["libtorch_python.so"]
    assert [frame.note for frame in frames if frame.role == "adapter"] == [
        "of torch::autograd::VariableType::add_Tensor",
        "of at::wrapper_CPU_add_Tensor",
    ]


def test_a_debug_build_in_gdb_has_files_lines_and_sets() -> None:
    (frames,) = stacks("gdb_debug", "2.0")
    found = numbers(frames)
    assert [frame.number for frame in frames] == list(range(16, -1, -1))
    assert found[7].file == "build/aten/src/ATen/Operators_2.cpp:1056"
    assert found[14].file == "torch/csrc/autograd/generated/python_torch_functions_2.cpp:1005"
    assert (found[15].role, found[15].file) == ("Python", "Objects/methodobject.c:543")
    assert [(each.name, each.raw, each.keys) for each in found[10].sets] == [
        ("ks", 274877939713, ("AutogradCPU", "CPU"))
    ]
    assert {number for number, frame in found.items() if frame.sets} == {3, 4, 5, 6, 7, 8, 10}
    assert all(found[number].sets[0].keys == ("CPU",) for number in (3, 4, 5, 6, 7, 8))


def test_a_lambda_without_a_name_is_one_of_the_function_around_it() -> None:
    found = numbers(stacks("gdb_debug")[0])
    assert (found[9].title, found[9].role) == ("VariableType::add_Tensor::{lambda}", "guard")
    assert (found[13].title, found[13].role) == ("THPVariable_add::{lambda}", "binding")


def test_key_set_names_its_release_if_none_is_given() -> None:
    found = numbers(stacks("gdb_debug")[0])
    assert found[10].note == "ks 0x4000008001 (274877939713): AutogradCPU, CPU (in PyTorch 2.0 to 2.2)"
    newer = numbers(stacks("gdb_debug", "2.13")[0])
    assert newer[10].note != found[10].note


def test_bt_full_with_threads_broken_lines_and_variables() -> None:
    first, second = stacks("gdb_full")
    assert [(frame.role, frame.title) for frame in first] == [
        ("Python", "??"),
        ("not PyTorch's", "<signal handler called>"),
        ("autograd kernel", "VariableType::mul_Tensor"),
        ("operator", "at::_ops::mul_Tensor::redispatch"),
    ]
    assert [[(each.name, each.keys) for each in frame.sets] for frame in first[2:]] == [
        [("ks", ("AutogradCPU", "CPU"))],
        [("dispatchKeySet", ("CPU",))],
    ]
    assert first[3].file == "build/aten/src/ATen/Operators_0.cpp:4410", "it is on a line of its own"
    assert [frame.role for frame in second] == ["engine", "engine", "not PyTorch's"]
    text = (FOLDER / "gdb_full.txt").read_text("utf-8")
    assert [each.heading.partition(" (")[0] for each in read_backtraces(text)] == ["Thread 2", "Thread 1"]


# -- lldb -------------------------------------------------------------------------------------------------------------


def test_backtrace_of_a_release_build_in_lldb_is_read() -> None:
    (frames,) = stacks("lldb_release")
    of_add = [(frame.role, frame.title) for frame in frames if frame.is_pytorchs]
    assert of_add[0] == ("binding", "torch::autograd::TypeError_to_NotImplemented_")
    without_adapter = [*WITHIN_ADD[:2], *WITHIN_ADD[3:]]  # clang has jumped from it
    assert of_add[1:] == without_adapter
    found = numbers(frames)
    assert found[6].file.endswith("/python_variable_methods.cpp"), "x + y calls the binding of the method"
    assert (found[9].role, found[10].role) == ("Python", "not PyTorch's")
    assert found[2].library == "libtorch_cpu.dylib"


def test_backtrace_of_a_debug_build_in_lldb_is_read() -> None:
    found = numbers(stacks("lldb_debug", "2.0")[0])
    assert found[4].file == "torch/csrc/autograd/generated/VariableType_2.cpp:6313", "lldb prints no folders"
    assert found[4].sets[0].keys == ("AutogradCPU", "CPU")
    assert (found[3].role, found[3].title) == ("guard", "VariableType::add_Tensor::{lambda}")
    assert (found[2].role, found[1].role) == ("dispatcher", "kernel function")
    assert not found[2].sets, "only the types of its arguments are printed"


# -- names and roles --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        ("at::_ops::add_Tensor::call(at::Tensor const&, c10::Scalar const&)", "at::_ops::add_Tensor::call"),
        ("at::(anonymous namespace)::wrapper_CPU_add_Tensor [clone .cold]", "at::wrapper_CPU_add_Tensor"),
        ("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", "torch::autograd::Node::operator()"),
        ("at::Tensor c10::Dispatcher::redispatch<at::Tensor>(int) const", "c10::Dispatcher::redispatch"),
        ("at::native::add_kernel(int)::{lambda()#1}::operator()() const", "at::native::add_kernel::{lambda}"),
        ("at::f(int)::{lambda(void (*)(int))#2}::operator()(int) const", "at::f::{lambda}"),
        ("a::b(int)::$_4::operator()() const", "a::b::{lambda}"),
        ("a::b(int)::'lambda0'(c::d<int>)::operator()(int) const", "a::b::{lambda}"),
        ("c10::operator<<(std::ostream&, c10::DispatchKey)", "c10::operator<<"),
        ("a::shift<(b)1>::operator->() const", "a::shift::operator->"),
        ("std::function<void ()>::operator()() const", "std::function::operator()"),
        ("<signal handler called>", "<signal handler called>"),
        ("", ""),
    ],
)
def test_names_of_functions_are_shortened(printed: str, plain: str) -> None:
    assert plain_name(printed) == plain


def test_name_of_an_adapter_is_that_of_the_wrapped_function() -> None:
    pointer = "c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&, long), &at::(anonymous namespace)::wrap>"
    assert wrapped_function(f"c10::impl::wrap_kernel_functor_unboxed_<{pointer}>::call(int)") == "at::wrap"
    assert wrapped_function("at::native::sum(at::Tensor const&)") == ""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.record("backtraces")
def test_a_frame_has_the_title_role_and_file_that_the_model_has_for_it(name: str) -> None:
    ours = {frame.title: frame for frame in our_frames(CASES[name])}
    outer = ""
    for theirs, *_ in records.read("backtraces")[name]:
        known = known_function(theirs, [outer], "libtorch_cpu.so")
        outer = theirs
        if known.title in ours:
            frame = ours[known.title]
            is_method = frame.file.endswith("python_variable_methods.cpp")  # the name alone does not say so for add
            assert known.role == frame.role
            assert known.file == frame.file or is_method
        else:
            assert theirs.startswith(("pybind11::", "at::native::randn", "at::native::normal_"))


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("at::redispatch::add", "API"),
        ("at::add_outf", "API"),
        ("torch::randn", "API"),
        ("at::meta::structured_add_Tensor::meta", "meta function"),
        ("at::native::DispatchStub::operator()", "stub"),
        ("at::native::cpu_kernel_vec", "loop"),
        ("at::native::conv2d_symint", "native function"),
        ("at::wrapper_CompositeImplicitAutograd__linear", "composite kernel"),
        ("at::wrapper_CUDA_add_Tensor", "backend kernel"),
        ("at::randn", "API"),
        ("at::functorch::BatchedTensorImpl::foo", "transform"),
        ("torch::TraceType::add_Tensor", "Tracer kernel"),
        ("torch::autograd::generated::details::mul_tensor_backward", "formulas"),
        ("THPFunction_apply", "custom Function"),
        ("c10::SomethingNew::run", ""),
        ("_PyEval_EvalFrameDefault", "Python"),
        ("__libc_start_main", "not PyTorch's"),
        ("mine::kernel", "not PyTorch's"),
        ("", "no name"),
    ],
)
def test_frames_have_the_roles_of_their_functions(name: str, role: str) -> None:
    assert known_function(name).role == role


def test_a_kernel_at_backend_select_has_the_name_of_the_api_but_is_local() -> None:
    (raw,) = read_backtraces("#0  at::(anonymous namespace)::randn (size=...) at RegisterBackendSelect.cpp:9\n")
    (frame,) = native_frames(raw.frames)
    assert (frame.title, frame.role) == ("randn", "chooses the backend")


def test_frames_outside_pytorch_are_one_row_and_the_innermost_stays() -> None:
    (frames,) = stacks("gdb_release")
    rows = folded(list(numbered(frames)), OUTSIDE)
    assert [row.title for row in rows[:2]] == [
        "3 frames, #28 _start to #26 __libc_start_call_main",
        "18 frames, #25 Py_BytesMain to #8 cfunction_call",
    ]
    assert len(rows) == 2 + len(WITHIN_ADD)
    only = [Frame(f"f{at}", "", -1, "Python") for at in range(3)]
    assert [row.title for row in folded(only, OUTSIDE)] == ["2 frames, f0 to f1", "f2"]


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_reads_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stack", "--read", str(FOLDER / "gdb_debug.txt"), "--release", "2.0"]) == 0
    out = capsys.readouterr().out
    assert "guard            #9 VariableType::add_Tensor::{lambda}" in out
    assert "ks 0x4000008001 (274877939713): AutogradCPU, CPU\n" in out


def test_json_has_each_thread(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stack", "--json", "--read", str(FOLDER / "gdb_full.txt")]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (len(first["frames"]), len(second["frames"])) == (4, 3)
    assert first["frames"][3]["sets"] == [
        {"name": "dispatchKeySet", "raw": 65537, "hex": "0x10001", "keys": ["CPU"], "remark": ""}
    ]


def test_text_without_a_backtrace_is_refused() -> None:
    with pytest.raises(DispatchvizError, match="no backtrace found"):
        read_backtraces("RuntimeError: # 0 of 3\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--read", "nowhere.txt"], "cannot read nowhere.txt: No such file or directory"),
        (["--read", "gdb_debug.txt", "--release", "9.9"], "the layout of release '9.9' is not known"),
        (["--read", "gdb_debug.txt", "add", "x.py"], "--read FILE runs no program"),
        (["--read", "gdb_debug.txt", "--key", "CPU"], "--key with --read would do nothing"),
        (["add", "x.py", "--release", "2.6", "y.py"], ""),
        (["--release", "2.6", "add", "x.py"], "--release with OP and SCRIPT would do nothing"),
        (["add"], "name an operator and a program"),
    ],
)
def test_invalid_options_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    assert main(["stack", *arguments]) == 2
    assert said in capsys.readouterr().err
