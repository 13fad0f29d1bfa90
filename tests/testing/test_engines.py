"""The engine that ``dispatch_trace`` records, by the settings and by what a test imports."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from dispatchviz import torch as model
from dispatchviz.testing.engine_choice import EngineError, engine_of

REAL = ModuleType("torch")


def _module(**names: object) -> ModuleType:
    module = ModuleType("test_mine")
    vars(module).update(names)
    return module


def _library(torch: ModuleType) -> ModuleType:
    library = ModuleType("mylib")
    vars(library).update(torch=torch)
    return library


def imports_the_model() -> None:
    from dispatchviz import torch

    torch.ones(2)


def imports_nothing() -> None:
    pass


@pytest.fixture(autouse=True)
def no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process have imported no PyTorch."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


@pytest.mark.parametrize(
    ("names", "engine"),
    [
        ({"torch": model}, "model"),
        ({"torch": REAL}, "torch"),
        ({"torch": REAL, "model": model}, "torch"),
        ({"torch": model, "real": REAL}, "model"),
        ({"nn": model.nn}, "model"),
        ({"mylib": _library(REAL)}, "torch"),
        ({"mylib": _library(model)}, "model"),
        ({}, "model"),
    ],
)
def test_test_module_decides(names: dict[str, Any], engine: str) -> None:
    assert engine_of("auto", _module(**names), imports_nothing) == engine


def test_imports_of_the_function_come_before_those_of_the_library() -> None:
    assert engine_of("auto", _module(mylib=_library(REAL)), imports_the_model) == "model"


def test_loaded_pytorch_is_recorded_if_nothing_else_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", REAL)
    assert engine_of("auto", _module(), imports_nothing) == "torch"
    monkeypatch.setitem(sys.modules, "torch", model)
    assert engine_of("auto", _module(), imports_nothing) == "model"


@pytest.mark.parametrize(
    ("asked", "names", "says"),
    [
        ("auto", {"a": model, "b": REAL}, "test_mine.py uses the model and the installed PyTorch: give the one to"),
        ("torch", {"torch": model}, "test_mine.py imports the model .*: write `import torch` there"),
        ("model", {"torch": REAL}, "`torch` in test_mine.py is the installed PyTorch"),
    ],
)
def test_engine_that_a_test_does_not_use_is_refused(asked: str, names: dict[str, Any], says: str) -> None:
    with pytest.raises(EngineError, match=says):
        engine_of(asked, _module(**names), imports_nothing)


def test_setting_decides_if_a_module_uses_both() -> None:
    both = _module(a=model, b=REAL)
    assert engine_of("torch", both, imports_nothing) == "torch"
    assert engine_of("model", both, imports_nothing) == "model"


# -- sessions ----------------------------------------------------------------------------------------------------------

MULTIPLIES = """
    import torch
    from torch import nn
    from dispatchviz.testing import *

    def test_mul(dispatch_trace):
        torch.ones(2) * 2
        nn.ReLU()(torch.ones(2))
        assert keys(dispatch_trace, torch.ops.aten.mul.Tensor) == "AutogradCPU → CPU"
        assert dispatch_trace.header.engine == "{}"
"""
USES_MODEL = """
    from dispatchviz import torch
    from dispatchviz.testing import *

    def test_model(dispatch_trace):
        torch.ones(2)
        assert dispatch_trace.header.engine == "model"
"""
LOCAL = """
    from dispatchviz.testing import *

    def test_local(dispatch_trace):
        import torch
        torch.ones(2)
        assert_count(dispatch_trace, call("aten::ones"), 1)
        assert dispatch_trace.header.engine == "torch"
"""
LEFT = """
    import torch
    from dispatchviz.testing import *

    def test_nothing_is_left_behind():
        assert "dispatchviz" not in torch._C._dispatch_dump("aten::mul.Tensor")
"""


@pytest.mark.long
def test_import_torch_means_the_model_if_that_is_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mul=MULTIPLIES.format("model"), conftest="import torch; torch.ones(1)")
    pytester.makeini("[pytest]\ndispatchviz_engine = model")
    result = pytester.runpytest_subprocess("-W", "error")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["dispatchviz: import torch means the model of PyTorch"])


@pytest.mark.long
@pytest.mark.torch
def test_each_test_is_recorded_on_the_engine_that_it_imports(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=LOCAL, test_b=MULTIPLIES.format("torch"), test_c=USES_MODEL, test_d=LEFT)
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=4)


@pytest.mark.long
@pytest.mark.torch
def test_model_is_recorded_beside_an_installed_pytorch(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=MULTIPLIES.format("model"))
    pytester.runpytest_subprocess("--dispatchviz-engine=model").assert_outcomes(passed=1)


@pytest.mark.long
@pytest.mark.torch
def test_test_of_the_other_engine_fails_with_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=USES_MODEL)
    result = pytester.runpytest_subprocess("--dispatchviz-engine=torch")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["--dispatchviz-engine=torch records the installed PyTorch, but test_a.py imports *"])
    result.stdout.no_fnmatch_line("*plugin.py*")


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--dispatchviz-engine=torch", "ERROR: --dispatchviz-engine=torch: no PyTorch is installed here; *"),
        ("-odispatchviz_engine=real", "ERROR: dispatchviz_engine = real: the engines are auto, model, torch"),
    ],
)
def test_engine_that_does_not_exist_is_one_error(option: str, says: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_b=USES_MODEL)
    result = pytester.runpytest_subprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([says])
