"""The code generator: fresh output, kernels only where PyTorch has some, and mistakes refused with their location."""

from __future__ import annotations

import inspect
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from dispatchviz import record, torch
from dispatchviz.core.codegen import __main__ as command
from dispatchviz.core.codegen import autograd, native, operators, registers
from dispatchviz.core.codegen.entries import SpecError
from dispatchviz.core.codegen.model import load
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.schema import python_signature
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.pytorch_registrations import (
    PyTorch,
    implemented,
    implemented_fallbacks,
    pytorch_operators,
    pytorch_schema,
)
from dispatchviz.core.table.registry import process
from dispatchviz.core.wiring import hand_written_kernels, native_library
from dispatchviz.core.wiring.native_library import Implemented

K = DispatchKey

GENERATED = cache(command.generate)

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


def names_with_functions() -> set[str]:
    """The names without ``aten::`` of operators with functions."""
    generated = [module.KERNELS for module in native_library.GENERATED.values()]
    return {name for table in [*generated, *hand_written_kernels.KERNELS.values()] for name in table}


NON_FUNCTIONAL = K.CompositeExplicitAutogradNonFunctional


def test_every_kernel_has_a_key_for_which_pytorch_has_one() -> None:
    assert len(names_with_functions()) >= 186
    for name in names_with_functions():
        ours, pytorch = native_library.functions(name), PyTorch("cuda").registrations(f"aten::{name}")
        if ours.get(K.Meta) in (ours.get(K.CompositeExplicitAutograd), ours.get(NON_FUNCTIONAL)):
            ours.pop(K.Meta, None)  # stands for a decomposition in Python, if there is one
        assert ours.keys() <= pytorch.keys(), name


def test_implemented_kernels_are_known_without_loading_them() -> None:
    for name in pytorch_operators():
        registered = Implemented("cuda").registrations(name)
        assert implemented(name) == {key for key, kernels in registered.items() if kernels[0].function}
    assert implemented("aten::nothing") == frozenset()
    assert implemented_fallbacks() == {key for key, kernel in process.fallbacks.items() if kernel.function}
    assert K.CUDA in implemented("aten::add.Tensor")


def test_schemas_equal_pytorchs() -> None:
    assert [schema for schema in SCHEMAS.values() if schema != pytorch_schema(schema.partition("(")[0])] == []


def generated(tmp_path: Path, functions: str = ADD, derivatives: str = DERIVATIVE) -> str:
    (tmp_path / "functions.yaml").write_text(functions)
    (tmp_path / "derivatives.yaml").write_text(derivatives)
    spec = load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml")
    wrappers = "".join(text for _, text in registers.texts(spec))
    return operators.stub(spec) + wrappers + autograd.nodes(spec) + autograd.variable_type(spec)


def test_an_operator_gets_all_its_functions(tmp_path: Path) -> None:
    text = generated(tmp_path)
    for name in ("def add_Tensor(self: Tensor, other: Tensor, alpha: Scalar = 1) -> Tensor: ...",
                 "def wrapper_add_Tensor(", "def wrapper_Meta_add_out_out(",
                 "class AddBackward0(TraceableFunction):", "def add_out_out("):  # fmt: skip
        assert name in text
    assert "grad_inputs[1] = maybe_multiply(grad, self.alpha)" in text


def test_operator_class_matches_its_schema_and_the_stub() -> None:
    stub = (command.FOLDER / "operators.pyi").read_text()
    assert re.findall(r"^@operator\ndef (\w+)\(", stub, re.MULTILINE) == [*SCHEMAS]
    for name, text in SCHEMAS.items():
        schema, made = parse_schema(text), getattr(ops, name)
        arguments = [python_signature.python_name(argument.name) for argument in schema.arguments]
        assert list(inspect.signature(made.call).parameters) == arguments
        assert list(inspect.signature(made.redispatch).parameters) == ["ks", *arguments]
        assert made.entry.schema.full_name == schema.full_name


def test_operator_class_mirrors_pytorchs_generated_class() -> None:
    source = """\
class add_Tensor:
    \"\"\"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\"\"\"

    entry = Entry("aten::add.Tensor")

    @staticmethod
    def call(self: Tensor, other: Tensor, alpha: Scalar = 1) -> Tensor:
        kernel, ks = call(add_Tensor.entry, self._ks | other._ks)
        return kernel(ks, self, other, alpha)

    @staticmethod
    def redispatch(ks: int, self: Tensor, other: Tensor, alpha: Scalar = 1) -> Tensor:
        return redispatch(add_Tensor.entry, ks)(ks, self, other, alpha)
"""
    assert python_signature.class_text(parse_schema(SCHEMAS["add_Tensor"])) == source
    assert inspect.getsource(ops.add_Tensor.call) == "".join(source.splitlines(keepends=True)[5:9])


DEVICES = """\
- func: mm(Tensor self, Tensor mat2) -> Tensor
  dispatch:
    CPU: mm_out_cpu
    CUDA: mm_out_cuda
- func: equal(Tensor self, Tensor other) -> bool
  dispatch:
    CPU: cpu_equal
    CUDA: cuda_equal
- func: relu(Tensor self) -> Tensor
  dispatch:
    CPU: relu
"""


def test_cpu_and_cuda_share_equal_kernels(tmp_path: Path) -> None:
    functions = ADD.replace("CPU, CUDA: ufunc_add", "CPU: ufunc_add_CPU\n    CUDA: ufunc_add_CUDA") + DEVICES
    (tmp_path / "functions.yaml").write_text(functions)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVE)
    texts = dict(registers.texts(load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml")))
    shared, cpu, cuda = texts["register_cpu_cuda"], texts["register_cpu"], texts["register_cuda"]
    assert '"""wrapper_CPU_add_Tensor and wrapper_CUDA_add_Tensor."""' in shared
    assert 'op.enter_impl("ufunc_add_CUDA" if ks & CUDA_BIT else "ufunc_add_CPU", binary_ops.ufunc_add)' in shared
    assert '"mm": wrapper__mm' in shared
    assert "def wrapper_CPU__equal(" in cpu
    assert "def wrapper_CPU__relu(" in cpu
    assert "def wrapper_CUDA__equal(" in cuda
    assert "relu" not in cuda + shared
    assert all("KERNELS = register_cpu_cuda.KERNELS | {" in text for text in (cpu, cuda))


CHECKED = """\
- func: dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA: dot_out
- func: chunk(Tensor[] tensors, int dim=0) -> Tensor
  dispatch:
    CPU, CUDA: chunk
- func: relu_(Tensor(a!) self, *, Tensor? scale=None) -> Tensor(a!)
  dispatch:
    CPU, CUDA: relu_
- func: mul(Tensor self, Tensor other) -> Tensor
  device_check: NoCheck
  dispatch:
    CPU, CUDA: mul
"""


def test_cuda_wrappers_check_that_their_tensors_are_on_one_device(tmp_path: Path) -> None:
    (tmp_path / "functions.yaml").write_text(DEVICES + CHECKED)
    (tmp_path / "derivatives.yaml").write_text("[]")
    texts = dict(registers.texts(load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml")))
    shared, cpu, cuda = texts["register_cpu_cuda"], texts["register_cpu"], texts["register_cuda"]
    equal, mm = 'check_common_device("wrapper_CUDA__equal", self', 'check_common_device("wrapper_CUDA__mm", self'
    assert f"    if self._device is not other._device:\n        {equal}=self, other=other)\n    return" in cuda
    assert f"    if ks & CUDA_BIT and self._device is not mat2._device:\n        {mm}=self, mat2=mat2)\n" in shared
    assert "    if ks & CUDA_BIT and not (out._device is self._device is tensor._device):\n" in shared
    assert 'check_common_device("wrapper_CUDA_out_dot_out", out=out, self=self, tensor=tensor)' in shared
    assert '    if ks & CUDA_BIT:\n        check_common_device("wrapper_CUDA__chunk", tensors=tensors)' in shared
    assert (
        shared.count("check_common_device(") == 3
    )  # a single tensor needs none, one given by name only is not compared
    assert "check_common_device" not in cpu


def test_a_shared_kernel_knows_which_device_it_serves() -> None:
    function = native_library.GENERATED[K.CPU].KERNELS["add.Tensor"]
    assert native_library.GENERATED[K.CUDA].KERNELS["add.Tensor"] is function
    for device, impl in (("cpu", "ufunc_add_CPU"), ("cuda", "ufunc_add_CUDA")):
        x = torch.ones(2, device=device)
        with record() as trace:
            x + x
        assert [e.function for e in trace if isinstance(e, ev.ImplEntered)] == [f"structured_{impl}::impl"]


def test_formulas_run_in_alphabetical_order_of_their_keys(tmp_path: Path) -> None:
    text = generated(tmp_path)
    assert text.index("grad_inputs[1] =") < text.index("grad_inputs[0] =")


MISTAKES = {
    # in native_functions.yaml
    "unknown field": (
        ADD + "  color: red\n", DERIVATIVE,
        r"functions\.yaml:3: add\.out: unknown field color; an entry may have device_check, .*variants$",
    ),
    "unknown dispatch key": (
        ADD.replace("CPU, CUDA", "CPU, CUDDA"), DERIVATIVE,
        r"functions\.yaml:3: add\.out: dispatch key 'CUDDA' is not one of CPU, CUDA, Meta",
    ),
    "one key twice": (
        ADD + "    Meta, CPU: ufunc_add\n", DERIVATIVE, r"yaml:3: add\.out: dispatch names two kernels for CPU$",
    ),
    "dispatch is no mapping": (
        ADD.replace("    CPU, CUDA: ufunc_add\n", "    - CPU\n"), DERIVATIVE,
        r"yaml:3: add\.out: dispatch must be lines of KEY: name under it, not \['CPU'\]",
    ),
    "missing kernel": (
        ADD.replace("ufunc_add", "ufunc_ad"), DERIVATIVE,
        r"yaml:3: add\.out: no module of native/ defines the kernel ufunc_ad; did you mean ufunc_add\?",
    ),
    "kernel of two modules": (
        ADD.replace("ufunc_add", "is_dense"), DERIVATIVE,
        r"yaml:3: add\.out: iterator\.strides and norm\.batch_norm_kernels of native/ all define is_dense: rename",
    ),
    "missing meta function": (
        ADD.replace("add.Tensor", "add.Tensr").replace("Tensr(Tensor self", "Tensr(Tensor self"),
        DERIVATIVE.replace("add.Tensor", "add.Tensr"),
        r"yaml:3: add\.out: no module of native/ defines add_Tensr_meta, the meta function; did you mean add_Tensor_m",
    ),
    "bad schema": (
        ADD + "- func: f(Tensor self ->\n", DERIVATIVE,
        r"functions\.yaml:7: func 'f\(Tensor self ->' is not a schema: .* \(at '->'\)",
    ),
    "unknown type": (
        ADD + "- func: f(QScheme x) -> Tensor\n", DERIVATIVE,
        r"yaml:7: f: the type QScheme of x is not one of Tensor, Scalar",
    ),
    "no schema": (ADD + "- variants: method\n", DERIVATIVE, r"yaml:7: an entry begins with func: and a schema"),
    "no mapping": (ADD + "- func\n", DERIVATIVE, r"yaml:7: an entry must be lines of field: value, not 'func'"),
    "unknown variant": (
        ADD + "  variants: method, property\n", DERIVATIVE,
        r"yaml:3: add\.out: variants may be function and method, not method, property",
    ),
    "unknown check": (
        ADD + "  device_check: Never\n", DERIVATIVE,
        r"yaml:3: add\.out: device_check may be NoCheck and ExactSame, not Never",
    ),
    "structured is no bool": (
        ADD.replace("structured: True", "structured: yes please"), DERIVATIVE,
        r"yaml:3: add\.out: structured must be True or False, not 'yes please'",
    ),
    "delegate to nothing": (
        ADD.replace("delegate: add.out", "delegate: add.ou"), DERIVATIVE,
        r"yaml:1: add\.Tensor: structured_delegate names 'add\.ou', not an entry; did you mean add\.out\?",
    ),
    "delegate to what is not structured": (
        ADD.replace("  structured: True\n", ""), DERIVATIVE,
        r"yaml:1: add\.Tensor: structured_delegate names add\.out, which has no structured: True",
    ),
    "structured without out": (
        ADD.replace("  structured_delegate: add.out\n", "  structured: True\n  dispatch:\n    CPU: ufunc_add\n"),
        DERIVATIVE,
        r"yaml:1: add\.Tensor: structured: True is for out= operators",
    ),
    "structured without a functional form": (
        ADD.partition("- func: add.out")[0].replace("  structured_delegate: add.out\n", "")
        + "- func: add.out" + ADD.partition("- func: add.out")[2], DERIVATIVE,
        r"yaml:2: add\.out: no functional operator has structured_delegate: add\.out",
    ),
    "structured and delegated": (
        ADD + "  structured_delegate: add.out\n", DERIVATIVE,
        r"yaml:3: add\.out: an operator has structured: True or structured_delegate, not both",
    ),
    "structured without dispatch": (
        ADD.replace("  dispatch:\n    CPU, CUDA: ufunc_add\n", ""), DERIVATIVE,
        r"yaml:3: add\.out: a structured operator needs a dispatch section",
    ),
    "ufunc without Generic": (
        ADD + "  ufunc_inner_loop:\n    ScalarOnly: add (Bool)\n", DERIVATIVE,
        r"yaml:3: add\.out: ufunc_inner_loop needs a line Generic: NAME \(TYPES\); it has ScalarOnly",
    ),
    "duplicate entry": (ADD + ADD, DERIVATIVE, r"yaml:7: add\.Tensor: it is already defined at functions\.yaml:1"),
    "field given twice": (
        ADD + "  structured: True\n", DERIVATIVE, r"functions\.yaml:7: structured is given twice, first at line 4",
    ),
    "wrong indentation": (
        ADD.replace("    CPU, CUDA", " CPU, CUDA"), DERIVATIVE, r"functions\.yaml:6: not valid yaml: .*column 2",
    ),
    "no yaml": (ADD + "- func: [\n", DERIVATIVE, r"functions\.yaml:8: not valid yaml: did not find"),
    "no list": ("func: add\n", DERIVATIVE, r"functions\.yaml:1: the file must be a list of entries"),
    # in derivatives.yaml
    "unknown argument": (
        ADD, DERIVATIVE + "  third: grad\n",
        r"derivatives\.yaml:1: add\.Tensor: it has no argument named third; it has alpha, other, self, and result for",
    ),
    "no operator": (
        ADD, DERIVATIVE.replace("add.Tensor", "ad.Tensor"),
        r"yaml:1: ad\.Tensor: it is not an operator of native_functions\.yaml; did you mean add\.Tensor\?",
    ),
    "another schema": (
        ADD, DERIVATIVE.replace("Scalar alpha=1", "Scalar alpha=2"),
        r"yaml:1: add\.Tensor: it is declared as aten::add\.Tensor\(.* at functions\.yaml:1, here as aten::add\.Tensor",
    ),
    "two derivatives": (ADD, DERIVATIVE * 2, r"yaml:4: add\.Tensor: it has a derivative already, at .*yaml:1"),
    "two formulas for an argument": (
        ADD, DERIVATIVE + "  self, other: grads\n", r"yaml:1: add\.Tensor: two formulas for (other|self)",
    ),
    "no expression": (
        ADD, DERIVATIVE.replace("self: grad", "self: grad *"), r"yaml:1: add\.Tensor, self: 'grad \*' is not a Python",
    ),
    "no text": (ADD, DERIVATIVE + "  result: [1]\n", r"yaml:1: add\.Tensor: result must be an expression, not \[1\]"),
    "unknown name": (
        ADD, DERIVATIVE.replace("self: grad", "self: gradd"),
        r"yaml:1: add\.Tensor, self: unknown name 'gradd'; a formula may use grad, grads, .*self, other, alpha",
    ),
    "unknown function": (
        ADD, DERIVATIVE.replace("maybe_multiply(", "maybe_multply("),
        r"yaml:1: add\.Tensor, other: maybe_multply is neither an operator nor a function of .*mean maybe_mul",
    ),
    "unknown method": (
        ADD, DERIVATIVE.replace("self: grad", "self: grad.foo()"), r"add\.Tensor, self: no operator foo takes",
    ),
    "no forward expression": (
        ADD, DERIVATIVE + "  result: self_t +\n", r"yaml:1: add\.Tensor: the forward formula 'self_t \+' is not a",
    ),
    "element-wise of two": (
        ADD, DERIVATIVE + "  result: auto_element_wise\n",
        r"yaml:1: add\.Tensor: auto_element_wise needs one differentiable input; the inputs are self, other",
    ),
    "unknown name in the forward formula": (
        ADD, DERIVATIVE + "  result: self_t + third_t\n", r"add\.Tensor, result: unknown name 'third_t'; a formula may",
    ),
    "differentiability of too many": (
        ADD, DERIVATIVE + "  output_differentiability: [True, False]\n",
        r"yaml:1: add\.Tensor: output_differentiability has 2 values for 1 results",
    ),
    "derivatives are no yaml": (ADD, DERIVATIVE + " x: 1\n", r"derivatives\.yaml:4: not valid yaml"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_entry_is_refused_with_its_location(tmp_path: Path, mistake: str) -> None:
    functions, derivatives, message = MISTAKES[mistake]
    with pytest.raises(SpecError, match=message) as refused:
        generated(tmp_path, functions, derivatives)
    assert "\n" not in str(refused.value)


def test_example_of_the_documentation_is_right(tmp_path: Path) -> None:
    generated(tmp_path, ADD, DERIVATIVE + "  result: self_t + maybe_multiply(other_t, alpha)\n")


@pytest.fixture
def one_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the generator once, since it takes seconds and its result does not change."""
    monkeypatch.setattr(command, "generate", GENERATED)


@pytest.mark.usefixtures("one_generation")
def test_generated_code_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--check"]) == 0
    assert capsys.readouterr().out == "core/generated is fresh\n"


@pytest.mark.usefixtures("one_generation")
def test_command_prints_stale_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(command.FOLDER, tmp_path / "generated"))
    with (folder / "nodes.py").open("a") as changed:
        changed.write("# by hand\n")
    (folder / "operators.pyi").unlink()
    (folder / "left_over.py").touch()
    monkeypatch.setattr(command, "FOLDER", folder)
    assert command.main(["--check"]) == 1
    files = ("left_over.py", "nodes.py", "operators.pyi")
    assert capsys.readouterr().out == "".join(f"stale: core/generated/{name}\n" for name in files)


def test_kernels_are_found_without_their_device(tmp_path: Path) -> None:
    (tmp_path / "functions.yaml").write_text(ADD)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVE)
    function = load(tmp_path / "functions.yaml", tmp_path / "derivatives.yaml").functions["add.out"]
    assert native.body(function, "ufunc_add_CUDA") == "binary_ops.ufunc_add"
