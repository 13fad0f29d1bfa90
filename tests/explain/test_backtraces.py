"""The frames of a call: every frame that a debugger finds on the stack of a released PyTorch, in its order."""

from __future__ import annotations

import pytest

from dispatchviz.explain.calls.call_stack import Frame
from scripts.backtraces import MORE, PAGE, our_frames, page, rows
from truth import records
from truth.formats.cpp_names import plain_name, wrapped_function
from truth.questions.backtraces import CASES

pytestmark = pytest.mark.record("backtraces")


@pytest.mark.parametrize("name", CASES)
def test_every_frame_of_a_release_build_is_one_of_ours(name: str) -> None:
    theirs = records.read("backtraces")[name]
    assert theirs, "the debugger stopped"
    found = rows(our_frames(CASES[name]), theirs)
    assert [row.theirs for row in found if row.theirs] == theirs
    unknown = [row.theirs[0] for row in found if row.ours is None and row.theirs]
    assert all(frame.startswith(tuple(MORE)) for frame in unknown), unknown


def test_every_hidden_frame_name_is_in_the_record() -> None:
    names = {frame[0] for frames in records.read("backtraces").values() for frame in frames}
    assert all(any(name.startswith(start) for name in names) for start in MORE)


def test_an_adapter_of_another_kernel_is_another_frame() -> None:
    kernel = Frame("wrapper_CPU_mm", "RegisterCPU_0.cpp", 0, "backend kernel")
    ours = [Frame("c10::impl::wrap_kernel_functor_unboxed_::call", "adapter.h", 0, "adapter"), kernel]
    for of, in_common in (("at::wrapper_CPU_mm", 1), ("at::wrapper_CPU_bmm", 0)):
        found = rows(ours, [["c10::impl::wrap_kernel_functor_unboxed_::call", of]])
        assert sum(row.ours is not None and row.theirs is not None for row in found) == in_common


def test_the_page_is_that_of_the_script() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m scripts.backtraces"


ADAPTER = "c10::f_<g<CompileTimeFunctionPointer<T (U, V<W>), &at::(anonymous namespace)::k>, T> >::call(X)@plt"


@pytest.mark.parametrize(
    ("printed", "plain", "wrapped"),
    [
        ("at::(anonymous namespace)::wrapper_CPU_mm(at::Tensor const&, at::Tensor const&)", "at::wrapper_CPU_mm", ""),
        ("a::b(int)::{lambda(c<d>(*)(int))#1}::operator()() const [clone .isra.0]", "a::b::{lambda}", ""),
        ("int a::B<c<int>, 2>::operator()<d>(e&&, std::array<bool, 2ul>) const", "a::B::operator()", ""),
        (ADAPTER, "c10::f_::call", "at::k"),
    ],
)
def test_printed_names_become_plain_names(printed: str, plain: str, wrapped: str) -> None:
    assert (plain_name(printed), wrapped_function(printed)) == (plain, wrapped)
