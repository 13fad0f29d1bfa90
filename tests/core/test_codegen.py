"""The code generator: fresh output, kernels only where PyTorch has some, and mistakes refused with their place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core import hand_written, native_library
from dispatchviz.core.aten import Implemented
from dispatchviz.core.codegen import autograd, native, operators, registers
from dispatchviz.core.codegen.__main__ import stale
from dispatchviz.core.codegen.model import SpecError, load
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.registrations import (
    PyTorch,
    implemented,
    implemented_fallbacks,
    pytorch_operators,
    pytorch_schema,
)
from dispatchviz.core.registry import process

K = DispatchKey

ADD = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: ufunc_add
"""
DERIVATIVE = """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: grad
  other: maybe_multiply(grad, alpha)
"""


def test_generated_code_is_fresh() -> None:
    assert stale() == []


def names_with_functions() -> set[str]:
    """Without ``aten::``."""
    generated = [module.KERNELS for module in native_library.GENERATED.values()]
    return {name for table in [*generated, *hand_written.KERNELS.values()] for name in table}


def test_every_kernel_of_ours_stands_where_pytorch_has_one() -> None:
    assert len(names_with_functions()) >= 186
    for name in names_with_functions():
        ours, pytorch = native_library.functions(name), PyTorch("cuda").registrations(f"aten::{name}")
        if ours.get(K.Meta) is ours.get(K.CompositeExplicitAutograd):
            ours.pop(K.Meta, None)  # stands for a decomposition in Python, if there is one
        assert ours.keys() <= pytorch.keys(), name


def test_what_is_implemented_can_be_asked_without_loading_it() -> None:
    for name in pytorch_operators():
        registered = Implemented("cuda").registrations(name)
        assert implemented(name) == {key for key, kernels in registered.items() if kernels[0].function}
    assert implemented("aten::nothing") == frozenset()
    assert implemented_fallbacks() == {key for key, kernel in process.fallbacks.items() if kernel.function}
    assert K.CUDA in implemented("aten::add.Tensor")


def test_our_schemas_are_pytorchs() -> None:
    assert [schema for schema in SCHEMAS if schema != pytorch_schema(schema.partition("(")[0])] == []


def generated(tmp_path: Path, functions: str = ADD, derivatives: str = DERIVATIVE) -> str:
    (tmp_path / "functions.yaml").write_text(functions)
    (tmp_path / "derivatives.yaml").write_text(derivatives)
    spec = load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml")
    wrappers = "".join(text for _, text in registers.texts(spec))
    return operators.text(spec) + wrappers + autograd.nodes(spec) + autograd.variable_type(spec)


def test_an_operator_gets_all_its_functions(tmp_path: Path) -> None:
    text = generated(tmp_path)
    for name in ("class add_Tensor:", "def wrapper_CPU_add_Tensor(", "def wrapper_CUDA_add_out_out(",
                 "class AddBackward0(TraceableFunction):", "def add_out_out("):  # fmt: skip
        assert name in text
    assert "grad_inputs[1] = maybe_multiply(grad, self.alpha)" in text


def test_formulas_run_in_alphabetical_order_of_their_keys(tmp_path: Path) -> None:
    text = generated(tmp_path)
    assert text.index("grad_inputs[1] =") < text.index("grad_inputs[0] =")


@pytest.mark.parametrize(
    ("functions", "derivatives", "message"),
    [
        (
            ADD.replace("CPU, CUDA", "CPU, CUDDA"),
            DERIVATIVE,
            r"yaml:3: .*add\.out: dispatch key 'CUDDA' is none of CPU",
        ),
        (
            ADD.replace("ufunc_add", "none"),
            DERIVATIVE,
            r"yaml:3: add\.out: no module of native/ defines the kernel none",
        ),
        (ADD + "  colour: red\n", DERIVATIVE, r"yaml:3: .*add\.out: unknown field colour"),
        (ADD.replace("delegate: add.out", "delegate: add.ou"), DERIVATIVE, r"delegate names 'add\.ou', not an entry"),
        (ADD + ADD, DERIVATIVE, r"yaml:7: add\.Tensor is already defined at functions\.yaml:1"),
        (ADD, DERIVATIVE + "  third: grad\n", r"yaml:1: .*add\.Tensor has no argument named third; it has alpha"),
        (ADD, DERIVATIVE.replace("self: grad", "self: grad *"), r"add\.Tensor, self: 'grad \*' is not a Python"),
        (ADD, DERIVATIVE.replace("self: grad", "self: gradd"), r"add\.Tensor, self: unknown name 'gradd'; it may use"),
        (ADD, DERIVATIVE.replace("add.Tensor", "sub.Tensor"), r"sub\.Tensor is not an operator of native_functions"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(
    tmp_path: Path, functions: str, derivatives: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        generated(tmp_path, functions, derivatives)


def test_the_command_says_what_is_stale() -> None:
    command = [sys.executable, "-m", "dispatchviz.core.codegen", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "core/generated is fresh\n")


def test_kernels_are_found_without_their_device(tmp_path: Path) -> None:
    (tmp_path / "functions.yaml").write_text(ADD)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVE)
    function = load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml").functions["add.out"]
    assert native.body(function, "ufunc_add_CUDA") == "pointwise.ufunc_add"
