"""The functions of the whole call chain are in PyTorch's headers; what kernels call is what torchgen says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_registrations
from dispatchviz.explain.calls.whole_stack import INNER, VARIABLE_TYPE, Inner, api_name

torch = pytest.importorskip("torch")
torchgen = pytest.importorskip("torchgen")
INCLUDE = Path(torch.__file__).parent / "include"


@pytest.mark.parametrize("inner", sorted(set().union(*INNER.values())), ids=lambda inner: inner.function)
def test_every_function_is_in_its_header(inner: Inner) -> None:
    text = (INCLUDE / inner.file.removeprefix("aten/src/")).read_text(encoding="utf-8")
    *_, scope, name = inner.function.split("::")
    names = ["call", "redispatch"] if "Typed" in scope else ["call", "redispatch", "callBoxed", "redispatchBoxed"]
    if "OperatorHandle" in scope and "Typed" not in scope:
        names = names[2:]
    for how in names if name == "{how}" else [name]:
        assert re.search(rf"\b{how}\(", text), how
    assert scope in ("c10", "impl") or re.search(rf"\b{scope}\b", text)


@cache
def redispatch_functions() -> frozenset[str]:
    text = (INCLUDE / "ATen/RedispatchFunctions.h").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^\s+inline .*? (\w+)\(c10::DispatchKeySet dispatchKeySet", text, re.MULTILINE))


def test_generated_kernels_call_what_torchgen_says() -> None:
    """``torchgen/api/cpp.py``, ``name``, as ``gen_variable_type.py`` calls it; all that have such kernels."""
    from torchgen.api import cpp
    from torchgen.gen import parse_native_yaml

    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    functions = parse_native_yaml(folder / "native_functions.yaml", folder / "tags.yaml").native_functions
    generated = [each.func for each in functions if _is_generated(f"aten::{each.func.name}")]
    assert len(generated) > 1000
    for function in generated:
        symint = function.has_symint()
        said = cpp.name(function, faithful_name_for_out_overloads=True, symint_overload=symint)
        assert api_name(str(function.name)) == said
        assert said in redispatch_functions()


def _is_generated(name: str) -> bool:
    if not name.startswith("aten::"):
        return False
    try:
        found = list(pytorch_registrations(name, "cpu"))
    except KeyError:
        return False
    return any(kernel.file.startswith(VARIABLE_TYPE) for _, kernel in found)
