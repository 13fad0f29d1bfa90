"""The registry of the process: all of PyTorch's operators by name, created on first use; the two builds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchviz.torch as torch
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table.library import Library
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import (
    BuildError,
    PyTorch,
    chosen_build,
    implemented,
    pytorch_operators,
    pytorch_registry,
)
from dispatchviz.core.table.registry import Registry, process
from tests.core.experiments import kernel, recomputed, stored

K = DispatchKey
CUDA_KEYS = {K.CUDA, K.SparseCUDA, K.SparseCsrCUDA, K.QuantizedCUDA, K.NestedTensorCUDA}
OTHERS = {K.AutocastCUDA, K.Meta, K.BackendSelect, K.HIP, K.CompositeExplicitAutograd}
"""Registrations of CUDA's own files for a few operators: recurrent networks, symmetric memory, random states."""


def made(registry: Registry) -> list[str]:
    """The operators that have been created."""
    return [op.name for op in registry.operators.made()]


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


# -- on demand --------------------------------------------------------------------------------------------------------


def test_names_are_known_without_creating_operators() -> None:
    registry = pytorch_registry("cpu")
    assert len(registry.names()) == len(registry.operators) == 3607
    assert "aten::add.Tensor" in registry.operators
    assert registry.names() == list(pytorch_operators())
    assert made(registry) == []


def test_operator_is_created_once() -> None:
    registry = pytorch_registry("cpu")
    op = registry.find("aten::add.Tensor")
    assert made(registry) == ["aten::add.Tensor"]
    assert registry.get("aten::add.Tensor") is registry.entry("aten::add.Tensor") is op
    assert registry.operators["aten::add.Tensor"] is op
    assert str(op.schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert (op.debug, op.alias_analysis) == ("registered at build/aten/src/ATen/RegisterSchema.cpp:6", "FROM_SCHEMA")


def test_unknown_operator_is_a_key_error() -> None:
    registry = pytorch_registry("cpu")
    assert registry.get("aten::nothing") is None
    with pytest.raises(RuntimeError, match=re.escape("Could not find schema for aten::nothing.")):
        registry.find("aten::nothing")


def test_creating_operators_keeps_their_order() -> None:
    registry = pytorch_registry("cpu")
    registry.find("prims::add")
    registry.entry("mine::op")
    assert registry.names() == [*pytorch_operators(), "mine::op"]


def test_overloads_come_in_the_order_in_which_pytorch_tries_them() -> None:
    overloads = [name.partition(".")[2] for name in pytorch_operators() if name.partition(".")[0] == "aten::add"]
    assert overloads == ["Tensor", "Scalar", "out", "Scalar_out"]


def test_kernel_can_be_registered_for_an_unused_operator() -> None:
    """The kernel precedes PyTorch's, and can be removed."""
    registry, mine = pytorch_registry("cpu"), kernel("mine")
    library = Library("IMPL", "aten", K.CPU, registry, where="test.py:1")
    library.impl("tanh", mine)
    op = registry.find("aten::tanh")
    assert [k.name for k in op.registrations[K.CPU]] == ["mine", "wrapper_CPU_tanh"]
    assert stored(op, K.CPU) == ("kernel", "mine")
    library.reset()
    assert stored(op, K.CPU) == ("kernel", "wrapper_CPU_tanh")
    assert "aten::tanh" in registry.operators


def test_pytorchs_operator_cannot_be_defined_again() -> None:
    registry = pytorch_registry("cpu")
    with pytest.raises(RuntimeError, match=r"Original registration: registered at .*RegisterSchema\.cpp:6"):
        Library("FRAGMENT", "aten", None, registry).def_("tanh(Tensor self) -> Tensor")


@pytest.mark.parametrize(
    ("namespace", "place"),
    [("aten", "build/aten/src/ATen/RegisterSchema.cpp:6"), ("prims", "torch/_prims/__init__.py:37")],
)
def test_pytorchs_namespace_has_its_owner(namespace: str, place: str) -> None:
    words = f"the namespace {namespace}; .* Previous registration of TORCH_LIBRARY was registered at {place};"
    with pytest.raises(RuntimeError, match=words):
        Library("DEF", namespace, None, pytorch_registry("cpu"))
    Library("DEF", "symm_mem", None, pytorch_registry("cpu"))  # PyTorch itself has fragments of it only


def test_operators_created_later_have_the_current_fallback() -> None:
    registry, mine = pytorch_registry("cpu"), kernel("mine")
    early = registry.find("aten::add.Tensor")
    assert stored(early, K.TESTING_ONLY_GenericMode) == ("missing", None)
    library = Library("IMPL", "_", None, registry)
    library.fallback(mine, K.TESTING_ONLY_GenericMode)
    late = registry.find("aten::mul.Tensor")
    assert stored(early, K.TESTING_ONLY_GenericMode) == ("backend fallback", "mine")
    assert stored(late, K.TESTING_ONLY_GenericMode) == ("backend fallback", "mine")
    library.reset()
    assert stored(early, K.TESTING_ONLY_GenericMode) == stored(late, K.TESTING_ONLY_GenericMode) == ("missing", None)


def test_removed_definition_frees_the_name() -> None:
    registry = pytorch_registry("cpu")
    library = Library("FRAGMENT", "aten", None, registry)
    library.def_("mine(Tensor self) -> Tensor")
    assert "aten::mine" in registry.operators
    library.reset()
    assert "aten::mine" not in registry.operators


# -- the process ------------------------------------------------------------------------------------------------------


def test_process_has_all_operators_and_functions_for_some() -> None:
    assert set(pytorch_operators()) <= set(process.names())
    op = process.find("aten::add.Tensor")
    assert op.table[op.cell_of(K.CPU)].kernel.function is not None  # type: ignore[union-attr]
    assert K.CPU in implemented(op.name)


def test_kernel_without_our_function_raises() -> None:
    name = "aten::_make_per_tensor_quantized_tensor"
    assert K.CPU not in implemented(name)
    cell = process.find(name).redispatch_lookup[0x10001]
    assert cell.kernel is not None
    held = f"holds PyTorch's kernel {cell.kernel.name} ({cell.kernel.debug}), which"
    words = f"the dispatch table entry of {name} for CPU {held}"
    with pytest.raises(NotImplementedError, match=re.escape(words)):
        cell.function(0x10001)


def test_facts_equal_those_of_pytorchs_registry() -> None:
    """Functions are put behind kernels. The set of kernels and their facts do not change."""
    alone = pytorch_registry(chosen_build())
    for name in ("aten::add.Tensor", "aten::matmul", "aten::randn", "aten::view", "aten::zeros_like", "prims::sin"):
        assert facts(process.find(name)) == facts(alone.find(name))


def facts(op: OperatorEntry) -> list[Any]:
    """The facts of every dispatch table entry."""
    return [(cell.key, cell.reason, cell.kernel and (cell.kernel.name, cell.kernel.debug)) for cell in op.table]


def test_new_process_runs_a_program() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# -- builds -----------------------------------------------------------------------------------------------------------


def test_a_cuda_build_has_more_kernels_and_lacks_none() -> None:
    """torchgen writes 1,724 of them. The others are in CUDA's own files, nearly all for its keys."""
    cpu, cuda = (Counter(rows(PyTorch(build))) for build in ("cpu", "cuda"))
    more = cuda - cpu
    assert not cpu - cuda
    assert (sum(cpu.values()), sum(more.values())) == (17_224, 1_785)
    assert sum("/Register" in debug for _, _, debug in more) == 1_724
    assert {key for _, key, _ in more} - CUDA_KEYS == OTHERS


def rows(stock: PyTorch) -> Iterator[tuple[str, DispatchKey, str]]:
    """Operator, key and place of every kernel."""
    for name in stock.names():
        for key, kernels in stock.registrations(name).items():
            yield from ((name, key, k.debug) for k in kernels)


@pytest.mark.parametrize(
    ("name", "key", "called"),
    [
        ("aten::add.Tensor", K.CUDA, "wrapper_CUDA_add_Tensor"),
        ("aten::add.Tensor", K.SparseCUDA, "wrapper_SparseCUDA_Tensor_add"),
        ("aten::view", K.CUDA, "wrapper_CUDA__view"),
        ("aten::abs", K.SparseCsrCUDA, "wrapper_SparseCsrCUDA__abs"),
        ("aten::empty.memory_format", K.QuantizedCUDA, "wrapper_QuantizedCUDA_memory_format_empty"),
        ("aten::native_dropout", K.NestedTensorCUDA, "wrapper_NestedTensorCUDA__native_dropout"),
        ("quantized::add", K.QuantizedCUDA, "add (BinaryOps.cpp)"),
    ],
)
def test_cuda_build_registers_cuda_kernels(name: str, key: DispatchKey, called: str) -> None:
    (front, *_) = PyTorch("cuda").registrations(name)[key]
    assert front.name == called
    assert re.search(r"registered at \S+:\d+$", front.debug)
    assert key not in PyTorch("cpu").registrations(name)


def test_builds_differ_in_the_entries_of_cuda() -> None:
    cpu, cuda = (pytorch_registry(build).find("aten::add.Tensor") for build in ("cpu", "cuda"))
    differ = {a.key for a, b in zip(cpu.table, cuda.table, strict=True) if facts_of(a) != facts_of(b)}
    assert differ == {K.CUDA, K.SparseCUDA, K.SparseCsrCUDA, K.NestedTensorCUDA}
    assert recomputed(cpu, K.CUDA) == (
        "default backend kernel",
        "wrapper_CompositeExplicitAutogradNonFunctional_add_Tensor",
    )
    assert recomputed(cuda, K.CUDA) == ("kernel", "wrapper_CUDA_add_Tensor")
    assert recomputed(cuda, K.AutogradCUDA) == ("autograd kernel", "VariableType::add_Tensor")


def facts_of(cell: Any) -> Any:
    return cell.reason, cell.kernel and cell.kernel.debug


def test_build_is_given_by_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPATCHVIZ_BUILD", raising=False)
    assert chosen_build() == "cuda"
    monkeypatch.setenv("DISPATCHVIZ_BUILD", "cpu")
    assert (chosen_build(), chosen_build("cuda"), PyTorch().build) == ("cpu", "cuda", "cpu")
    monkeypatch.setenv("DISPATCHVIZ_BUILD", "tpu")
    with pytest.raises(BuildError, match=r"^unknown build 'tpu' \(environment variable DISPATCHVIZ_BUILD\): it is cpu"):
        chosen_build()
    with pytest.raises(BuildError, match=r"^unknown build 'rocm': it is cpu or cuda$"):
        pytorch_registry("rocm")


@pytest.mark.long
def test_environment_chooses_the_build_of_the_process() -> None:
    program = "import dispatchviz.torch as t; t.ones(2, device='cuda')"
    assert python(program, DISPATCHVIZ_BUILD="cuda").returncode == 0
    assert "Torch not compiled with CUDA enabled" in python(program, DISPATCHVIZ_BUILD="cpu").stderr
    assert "BuildError: unknown build 'tpu'" in python(program, DISPATCHVIZ_BUILD="tpu").stderr


def test_unknown_build_is_a_one_line_error() -> None:
    program = "import sys; from dispatchviz.cli import main; sys.exit(main(['trace', 'examples/forum.py']))"
    done = python(program, DISPATCHVIZ_BUILD="tpu")
    line = "dispatchviz: unknown build 'tpu' (environment variable DISPATCHVIZ_BUILD): it is cpu or cuda\n"
    assert (done.returncode, done.stderr) == (2, line)


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_computing_a_table_loads_neither_numpy_nor_kernels() -> None:
    done = python("""
import sys
from dispatchviz.core.keys import keys
from dispatchviz.core.table import library, operator_entry, pytorch_registrations
op = pytorch_registrations.pytorch_registry().find("aten::add.Tensor")
assert len(op.table) == 137 and pytorch_registrations.implemented(op.name) and str(op.schema)
print(sorted(m for m in sys.modules if m.split(".")[0] == "numpy" or m.startswith("dispatchviz.core.native.")))
""")
    assert done.stdout == "[]\n", done.stderr


def test_tables_have_an_entry_for_each_runtime_key() -> None:
    assert len(process.find("aten::sum").table) == len(RUNTIME_KEYS) == 137
