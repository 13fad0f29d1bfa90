"""Warnings of C++ code: to stderr or to Python's warnings, once."""

from __future__ import annotations

import re
import warnings

import pytest

from dispatchviz.core.kernel.cpp_signature import T_T
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.library import Library, Registry
from dispatchviz.core.thread import warning

K = DispatchKey
TEXT = """\
Warning only once for all operators,  other operators may also be overridden.
  Overriding a previously registered kernel for the same operator and the same dispatch key
  operator: ns::foo(Tensor x) -> Tensor
    registered at a.py:1
  dispatch key: {key}
  previous kernel: {previous}
       new kernel: {new}"""


def typed(debug: str) -> Kernel:
    return Kernel("k", None, debug, cpp=T_T)


def boxed(debug: str) -> Kernel:
    return Kernel("k", None, debug, boxed=True)


@pytest.fixture
def library() -> Library:
    made = Library("FRAGMENT", "ns", None, Registry(), "a.py:1")
    made.def_("foo(Tensor x) -> Tensor")
    return made


@pytest.fixture(autouse=True)
def _reset_warnings() -> object:
    with warning.reset_warnings():
        yield


def test_cpp_warning_goes_to_stderr(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.impl("foo", typed("first"), K.CPU)
    library.impl("foo", typed("second"), K.CPU)
    output = capsys.readouterr().err
    stamp, _, rest = output.partition("] ")
    assert re.fullmatch(r"\[W\d{4} \d\d:\d\d:\d\d\.\d{9} OperatorEntry\.cpp:208", stamp)
    assert rest == f"Warning: {TEXT.format(key='CPU', previous='first', new='second')} (function operator())\n"


def test_repeated_warning_is_issued_once(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    for debug in ("first", "second", "third"):
        library.impl("foo", typed(debug), K.CPU)
    assert capsys.readouterr().err.count("Overriding") == 1


def test_warning_of_a_function_called_by_python_is_pythons(library: Library) -> None:
    """The line is that of the first caller outside the machine."""
    library.impl("foo", boxed("first"))
    with warnings.catch_warnings(record=True) as warned, warning.as_python():
        warnings.simplefilter("always")
        library.impl("foo", boxed("second"))
    place = "aten/src/ATen/core/dispatch/OperatorEntry.cpp:208"
    text = TEXT.format(key="(catch all)", previous="no debug info", new="second")
    assert [str(w.message) for w in warned] == [f"{text} (Triggered internally at /__w/pytorch/pytorch/{place}.)"]
    assert warned[0].filename == __file__


def test_warning_names_the_kernel_that_fixed_the_signature(
    library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    library.impl("foo", typed("cuda"), K.CUDA)
    library.impl("foo", boxed("cpu"), K.CPU)
    library.impl("foo", boxed("cpu again"), K.CPU)
    assert TEXT.format(key="CPU", previous="cuda", new="cpu again") in capsys.readouterr().err


@pytest.mark.parametrize("key", [K.Meta, K.MTIA])
def test_python_kernels_override_without_a_warning(
    library: Library, key: DispatchKey, capsys: pytest.CaptureFixture[str]
) -> None:
    library.impl("foo", typed("first"), key)
    library.impl("foo", typed("second"), key)
    assert capsys.readouterr().err == ""


def test_warning_raised_as_error_leaves_the_kernel_registered(library: Library) -> None:
    library.impl("foo", boxed("first"), K.CPU)
    with warning.as_python(), pytest.raises(UserWarning):  # every warning is an error in tests
        library.impl("foo", boxed("second"), K.CPU)
    assert [k.debug for k in library.registry.operators["ns::foo"].registrations[K.CPU]] == ["second", "first"]
    library.reset()
    assert library.registry.names() == []


def test_set_warn_always_repeats_the_warning(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    warning.set_warn_always(True)
    assert warning.is_warn_always_enabled()
    for debug in ("first", "second", "third"):
        library.impl("foo", typed(debug), K.CPU)
    assert capsys.readouterr().err.count("Overriding") == 2
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        warning.set_warn_always(1)  # type: ignore[arg-type]
