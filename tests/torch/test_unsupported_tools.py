"""Compilers, tracers, process groups and downloads, none of which are here."""

from __future__ import annotations

import pytest

from dispatchviz import torch
from dispatchviz.torch import distributed, fx, hub, jit


def double(x: object) -> object:
    return x


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("compiles", [jit.script, jit.trace])
def test_what_is_compiled_is_returned_with_a_warning(compiles: object) -> None:
    with pytest.warns(UserWarning, match="runs as Python") as caught:
        assert compiles(double) is double  # type: ignore[operator]
    assert caught[-1].filename == __file__


def test_marks_for_tracers_change_nothing() -> None:
    assert fx.wrap(double) is double
    assert fx.wrap("double") == "double"
    assert jit.ignore(drop=True)(double) is double
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: distributed.init_process_group("gloo"),
        lambda: hub.load("owner/name", "model"),
        lambda: hub.load_state_dict_from_url("file"),
        lambda: fx.symbolic_trace(torch.nn.Linear(1, 1)),
    ],
)
def test_what_cannot_be_done_raises(call: object) -> None:
    with pytest.raises(NotImplementedError, match="dispatchviz's model of PyTorch"):
        call()  # type: ignore[operator]


def test_the_folder_of_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "models")
    assert hub.get_dir().replace("\\", "/") == "models/hub"
    hub.set_dir("elsewhere")
    try:
        assert hub.get_dir() == "elsewhere"
    finally:
        hub._hub_dir = None
