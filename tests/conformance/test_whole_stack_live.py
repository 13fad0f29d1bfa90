"""The functions of the whole call chain are in PyTorch's headers, and kernels call the functions that torchgen
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks, pytorch_registrations
from dispatchviz.explain.calls.binding_frames import called_api, methods, out_variant, pytorch_signature, variants
from dispatchviz.explain.calls.call_stack import NATIVE, Frame
from dispatchviz.explain.calls.engine_frames import CALLS_NODE
from dispatchviz.explain.calls.kernel_frames import native_function
from dispatchviz.explain.calls.whole_stack import (
    BOXED_FUNCTION,
    FUNCTOR,
    INNER,
    VARIABLE_TYPE,
    Inner,
    api_name,
    has_lambda,
)
from dispatchviz.explain.codegen.definitions import FUNCTIONS, entry, names
from dispatchviz.explain.codegen.generated_files import root_name
from truth.observers.elf_symbols import Library

if TYPE_CHECKING:
    from torchgen.model import NativeFunction

torch = pytest.importorskip("torch")
pytest.importorskip("torchgen")
INCLUDE = Path(torch.__file__).parent / "include"


def test_the_engine_calls_the_functions_of_node_h() -> None:
    text = (INCLUDE / CALLS_NODE.file).read_text(encoding="utf-8")
    assert re.search(r"struct TORCH_API Node\b", text)
    assert CALLS_NODE.function.rpartition("::")[2] in text


@pytest.mark.parametrize(
    "inner", sorted({FUNCTOR, BOXED_FUNCTION}.union(*INNER.values())), ids=lambda inner: inner.function
)
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


def test_generated_kernels_call_the_functions_of_torchgen() -> None:
    """The name is that of ``torchgen/api/cpp.py``, ``name``, as ``gen_variable_type.py`` calls it, for all generated
    kernels.
    """
    from torchgen.api import cpp

    from truth.observers.torchgen import generator

    functions = generator().yaml.native_functions
    generated = [each.func for each in functions if _is_generated(f"aten::{each.func.name}")]
    assert len(generated) > 1000
    for function in generated:
        symint = function.has_symint()
        name = cpp.name(function, faithful_name_for_out_overloads=True, symint_overload=symint)
        assert api_name(str(function.name)) == name
        assert name in redispatch_functions()


def _is_generated(name: str) -> bool:
    if not name.startswith("aten::"):
        return False
    try:
        found = list(pytorch_registrations(name, "cpu"))
    except KeyError:
        return False
    return any(kernel.file.startswith(VARIABLE_TYPE) for _, kernel in found)


# -- the output of torchgen --------------------------------------------------------------------------------------------


@cache
def entries() -> dict[str, NativeFunction]:
    """Return PyTorch's operators that have an entry in our yaml file."""
    from truth.observers.torchgen import generator

    found = generator().yaml.native_functions
    return {str(each.func.name): each for each in found if entry(FUNCTIONS, str(each.func.name)) is not None}


def generated_bindings() -> Iterator[tuple[str, NativeFunction]]:
    """Yield the operators that a generated binding calls."""
    from torchgen.packaged.autograd import gen_python_functions as bindings

    for name, function in entries().items():
        is_method, is_function = bindings.is_py_variable_method(function), bindings.is_py_torch_function(function)
        if bindings.should_generate_py_binding(function) and (is_method or is_function):
            yield name, function


def test_bindings_call_the_functions_of_torchgen() -> None:
    """The target is that of ``torchgen/api/python.py``, ``cpp_dispatch_target``."""
    from torchgen.api.python import cpp_dispatch_target

    known = dict(generated_bindings())
    assert len(known) > 1000
    for name, function in known.items():
        target = cpp_dispatch_target(function).replace("self.", "at::Tensor::")
        first = next(called_api(f"aten::{name}"))
        assert first[0] == target, name


def test_a_signature_with_out_has_the_two_operators_of_torchgen() -> None:
    """``gen_python_functions.py``, ``group_overloads``, groups them. An operator that it skips has no binding."""
    from torchgen.api.python import PythonSignatureNativeFunctionPair
    from torchgen.packaged.autograd import gen_python_functions as bindings

    overloads: dict[str, list[PythonSignatureNativeFunctionPair]] = {}
    for function in entries().values():
        if bindings.is_py_torch_function(function) and bindings.should_generate_py_binding(function):
            pair = PythonSignatureNativeFunctionPair(bindings.signature(function, pyi=False), function)
            overloads.setdefault(str(function.func.name.name), []).append(pair)
    groups = [group for pairs in overloads.values() for group in bindings.group_overloads(pairs, symint=True)]
    with_out = [group for group in groups if group.outplace is not None]
    assert len(with_out) > 100
    for group in with_out:
        assert group.outplace is not None
        assert out_variant(f"aten::{group.base.func.name}") == f"aten::{group.outplace.func.name}"


def test_the_functions_of_the_api_are_in_their_headers() -> None:
    """Factories of ``torch::`` call that of ``at::``. Those with a manual binding (``is_conj``) dispatch nothing."""
    factories = (INCLUDE / "torch/csrc/autograd/generated/variable_factories.h").read_text(encoding="utf-8")
    body = (INCLUDE / "ATen/core/TensorBody.h").read_text(encoding="utf-8")
    for name, of in generated_bindings():
        for title, _ in () if of.manual_cpp_binding else called_api(f"aten::{name}"):
            *_, scope, function = title.split("::")
            base = root_name(name.partition(".")[0])
            text = body if scope == "Tensor" else factories if scope == "torch" else ""
            text = text or (INCLUDE / f"ATen/ops/{base}.h").read_text(encoding="utf-8")
            assert f" {function}(" in text, title
            if scope == "torch":
                assert f"at::{function}(" in text, title


def test_generated_kernels_have_the_lambda_that_the_generators_write() -> None:
    from torchgen.packaged.autograd.gen_inplace_or_view_type import modifies_arguments

    for name, function in entries().items():
        if _is_generated(f"aten::{name}"):
            assert has_lambda(f"aten::{name}") == (bool(function.func.returns) and not modifies_arguments(function)), (
                name
            )


def test_wrappers_call_the_native_functions_of_torchgen() -> None:
    from truth.observers.torchgen import generator

    indices = generator().yaml.backend_indices
    seen = 0
    for name, function in entries().items():
        for key, index in indices.items():
            found = native_function(f"aten::{name}", f"wrapper_{key}_x")
            if found is not None and (kernel := index.get_kernel(function)) is not None:
                seen += 1
                assert found[0] == f"at::native::{kernel.kernel}", (name, key)
                assert f" {kernel.kernel}(" in (INCLUDE / found[1].removeprefix("build/aten/src/")).read_text("utf-8")
                written = "generated" if "generated" in function.tags else "by hand"
                assert Frame(*found, 0, NATIVE).written == f"{written}, declared in", (name, key)
    assert seen > 500


def test_torchgen_writes_the_same_bindings_without_a_parser() -> None:
    from torchgen.packaged.autograd import gen_python_functions as bindings

    methods_: dict[str, list[NativeFunction]] = {}
    for _, function in generated_bindings():
        if bindings.is_py_variable_method(function):
            methods_.setdefault(str(function.func.name.name), []).append(function)
    for base, overloads in methods_.items():
        arguments = overloads[0].func.arguments
        alone = len(overloads) == 1 and len(arguments.flat_all) == 1
        own = [name for name in names(FUNCTIONS) if name.partition(".")[0] == base and "method" in variants(name)]
        takes_self = [name for name in own if len(_arguments(name)) == 1]
        assert (methods(base) == 1 and own == takes_self) == alone or not own, base


def _arguments(name: str) -> tuple[object, ...]:
    schema = pytorch_signature(f"aten::{name}")
    assert schema is not None
    return tuple(schema.arguments)


# -- the contents of libraries -----------------------------------------------------------------------------------------


@cache
def names_in(library: str) -> bytes:
    return Library(Path(torch.__file__).parent / "lib" / library).names


@pytest.mark.parametrize(
    ("library", "function"),
    [
        ("libtorch_python.so", "THPEngine_run_backward"),
        ("libtorch_python.so", "PythonEngine::execute"),
        ("libtorch_python.so", "PythonEngine::execute_with_graph_task"),
        ("libtorch_python.so", "PythonEngine::thread_init"),
        ("libtorch_python.so", "PythonKernelHolder::cl"),
        ("libtorch_python.so", "jit::_get_operation_for_overload_or_packet"),
        ("libtorch_python.so", "jit::invokeOperatorFromPython"),
        ("libtorch_cpu.so", "Engine::thread_main"),
        ("libtorch_cpu.so", "Engine::thread_init"),
        ("libtorch_cpu.so", "Engine::execute_with_graph_task"),
        ("libtorch_cpu.so", "autograd::Node::cl"),
        ("libtorch_cpu.so", "VariableHooks::basic_autograd_not_implemented_fallback"),
        ("libtorch_cpu.so", "native::add_stub"),
        ("libtorch_cpu.so", "add_kernel"),
        ("libtorch_cpu.so", "TensorIteratorBase::for_each"),
        ("libtorch_cpu.so", "MulBackward0_apply_functional"),
    ],
)
def test_the_functions_that_no_header_has_are_in_the_libraries(library: str, function: str) -> None:
    """The names are as the compiler writes them: ``cl`` is ``operator()``."""
    parts = (part if part == "cl" else f"{len(part)}{part}" for part in function.split("::"))
    assert "".join(parts).encode() in names_in(library)


def test_every_boxed_kernel_of_cpp_is_wrapped_by_the_same_function() -> None:
    """``c10::BoxedKernel::make_boxed_function`` has an instance for each boxed fallback."""
    instances = re.findall(rb"11BoxedKernel19make_boxed_functionI\w+", names_in("libtorch_cpu.so"))
    wrapped = b" ".join(instances)
    for _, kernel in pytorch_fallbacks():
        name = kernel.name.rpartition("::")[2]
        if kernel.boxed and not kernel.fallthrough and kernel.file.startswith("aten/"):
            assert name.encode() in wrapped, name
