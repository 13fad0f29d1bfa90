"""The role of a C++ function on a stack, from its name: the words of ``dispatchviz trace --stack``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_registrations
from dispatchviz.explain.calls.backtraces.known_functions import Known, known_functions
from dispatchviz.explain.calls.binding_frames import variants
from dispatchviz.explain.calls.call_roles import KERNELS
from dispatchviz.explain.calls.call_stack import INTERPRETER, NATIVE, NODES_OWN, OTHER, UNNAMED
from dispatchviz.explain.calls.engine_frames import PYTHON_ENGINE
from dispatchviz.explain.calls.kernel_frames import ITERATOR, LOOPS
from dispatchviz.explain.codegen.definitions import FUNCTIONS, entry, entry_field
from dispatchviz.explain.codegen.generated_files import (
    ATEN,
    function_file,
    header,
    method_file,
    operators_file,
)
from dispatchviz.explain.codegen.generated_files import AUTOGRAD as AUTOGRAD_FOLDER
from dispatchviz.explain.locations.native_files import structured_file
from dispatchviz.explain.locations.pytorch_locations import registered_path

OWN = ""
"""The role of a PyTorch function about which no more is known."""

NO_NAME = "??"
"""The names that debuggers print for code without a symbol."""

METHOD = ("method_vectorcall", "TypeError_to_NotImplemented_")
"""The prefixes of functions that call the binding of a method of Tensor, not of a function of ``torch``."""

_INTERPRETER = re.compile(
    r"_?Py[A-Z_]\w*|py(?:main|run|_)\w*|cfunction_\w+|method_vectorcall\w*|run_(?:mod|eval)\w*|vectorcall_\w+"
    r"|(?:slot|wrap|builtin|object|type|func(?:tion)?|gen|partial|property|descr|classmethod|context)_\w+"
    r"|_?call_trampoline|binary_op1|wrap_\w+|do_call_core|call_function|trace_call_function|_start|__libc_start_\w+|main"
)
_PYTORCHS = ("at::", "c10::", "torch::", "caffe2::", "THP")
_LIBRARIES = ("libtorch", "libc10", "_C.")


def known_function(name: str, outer: Sequence[str] = (), library: str = "", is_local: bool = False) -> Known:
    """The role and file of a function by its plain name. ``outer`` has the names around it, innermost first; they
    identify the binding of a method.

    ``is_local``: it is in an anonymous namespace, as kernels are and the C++ API is not.
    """
    found = known_functions().get(name) or (_select(name) if is_local else None) or _by_pattern(name, outer)
    return found or Known(name or NO_NAME, "", _of_nobody(name, library))


def _of_nobody(name: str, library: str) -> str:
    if name.startswith(_PYTORCHS) or library.startswith(_LIBRARIES):
        return OWN
    is_pythons = library.startswith(("libpython", "python")) or (not library and _INTERPRETER.fullmatch(name))
    if is_pythons and name not in _STARTS:
        return INTERPRETER
    return OTHER if name else UNNAMED


_STARTS = ("_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl")


def _by_pattern(name: str, outer: Sequence[str]) -> Known | None:
    for pattern, known in _PATTERNS:
        if (match := pattern.fullmatch(name)) and (found := known(match, outer)):
            return found
    return None


# -- what is generated for an operator ---------------------------------------------------------------------------------


def _binding(found: re.Match[str], outer: Sequence[str]) -> Known:
    function = found[1]
    is_method = any(each.rpartition("::")[2].startswith(METHOD) for each in outer[:1]) or not _is_function(function)
    file = method_file() if is_method else function_file(function, _module(function))
    return Known(f"THPVariable_{function}{found[2] or ''}", file, "binding")


def _module(function: str) -> str:
    """``nn`` of ``linear``."""
    overloads = _overloads(function)
    own = (entry(FUNCTIONS, name.removeprefix("aten::")) for name in overloads)
    return next((module for each in own if each is not None and (module := entry_field(each, "python_module"))), "")


def _is_function(function: str) -> bool:
    """Return whether ``torch`` may have a function of that name: ``add_`` and ``view`` are only methods."""
    known = [own for name in _overloads(function) if (own := variants(name))]
    return any("function" in each for each in known) if known else not function.endswith("_")


@cache
def _bases() -> dict[str, list[str]]:
    """The overloads of each base name, such as ``add``."""
    found: dict[str, list[str]] = {}
    for name in pytorch_operators():
        if name.startswith("aten::"):
            found.setdefault(name.removeprefix("aten::").partition(".")[0], []).append(name)
    return found


def _overloads(base: str) -> list[str]:
    return _bases().get(base, [])


@cache
def operator_classes() -> dict[str, str]:
    """The operator of each class: ``add_Tensor`` of ``at::_ops::add_Tensor`` to ``aten::add.Tensor``."""
    return {
        name.removeprefix("aten::").replace(".", "_"): name for name in pytorch_operators() if name.startswith("aten::")
    }


def _operator(found: re.Match[str], outer: Sequence[str]) -> Known:
    operator = operator_classes().get(found[1], "")
    base = operator.removeprefix("aten::").partition(".")[0]
    return Known(found[0], operators_file(base) if base else "", "operator")


def _base_of(function: str) -> str:
    """``add`` of ``add``, ``add_out``, ``add_outf``; empty if no operator has that name."""
    short = re.sub(r"_symint(?=$|_out)", "", function)
    names = (short, re.sub(r"_outf?$", "", short))
    return next((name for name in names if _overloads(name)), "")


def _api(file: Callable[[str], str]) -> Callable[[re.Match[str], Sequence[str]], Known | None]:
    def known(found: re.Match[str], outer: Sequence[str]) -> Known | None:
        base = _base_of(found[1])
        return Known(found[0], file(base), "API") if base else None

    return known


# -- kernels ----------------------------------------------------------------------------------------------------------


def _namespaced(namespace: str, role: str) -> Callable[[re.Match[str], Sequence[str]], Known]:
    """Create a rule for generated kernels in a namespace, such as ``VariableType::add_Tensor``."""

    def known(found: re.Match[str], outer: Sequence[str]) -> Known:
        title = f"{namespace}::{found[1]}"
        is_lambda = bool(found[2])
        return Known(f"{title}{found[2] or ''}", _registered(title, found[1]), "guard" if is_lambda else role)

    return known


def _wrapper(found: re.Match[str], outer: Sequence[str]) -> Known:
    key, function = found[2], found[3]
    return Known(found[1], _registered(found[1], function), key_role(key))


def key_role(key: str) -> str:
    """The role of the kernel that a generated wrapper of a key is."""
    return "composite kernel" if key == "CompositeImplicitAutograd" else KERNELS.get(key, "backend kernel")


def _registered(kernel: str, function: str) -> str:
    """The file that registers a kernel with that title; empty if there is none."""
    return next((registered_path(debug) for name, debug in _kernels(function) if name == kernel), "")


def _kernels(function: str) -> Iterator[tuple[str, str]]:
    """The title and place of the kernels whose operator may have that name."""
    for operator in _candidates(function):
        yield from ((kernel.name, kernel.debug) for _, kernel in pytorch_registrations(operator, "cuda"))


def _candidates(function: str) -> Iterator[str]:
    """The operators of ``add_Tensor``, ``sum_out_out`` (its function ends in ``_out``), ``_sum`` (after its
    overload).
    """
    without_key = re.sub(r"_Autograd\w+$", "", function)
    for name in dict.fromkeys((function, without_key)):
        if operator := operator_classes().get(name):
            yield operator
    bases = [base for base in _bases() if base in function]
    for base in sorted(bases, key=len, reverse=True):
        yield from _overloads(base)


def _select(name: str) -> Known | None:
    """The role of a kernel for BackendSelect. Its name has no prefix, so only registered kernels count."""
    title = name.removeprefix("at::")
    file = _registered(title, title)
    return Known(title, file, KERNELS["BackendSelect"]) if file.endswith("RegisterBackendSelect.cpp") else None


# -- structured and native functions ----------------------------------------------------------------------------------


def _structured(role: str) -> Callable[[re.Match[str], Sequence[str]], Known]:
    return lambda found, outer: Known(found[1], structured_file(found[1]), role)


def _plain(role: str, file: str = "") -> Callable[[re.Match[str], Sequence[str]], Known]:
    return lambda found, outer: Known(found[0], file, role)


def _native(found: re.Match[str], outer: Sequence[str]) -> Known:
    base = _base_of(found[1])
    return Known(found[0], header(base, "_native") if base else "", NATIVE)


def _node(found: re.Match[str], outer: Sequence[str]) -> Known:
    return Known(found[0], f"{AUTOGRAD_FOLDER}/Functions.cpp", (found[1] and "formulas") or NODES_OWN)


_LAMBDAS = r"((?:::\{lambda\})*)"

_RAW: tuple[tuple[str, Callable[[re.Match[str], Sequence[str]], Known | None]], ...] = (
    (rf"(?:torch::autograd::)?THPVariable_(\w+?){_LAMBDAS}", _binding),
    (r"torch::autograd::TypeError_to_NotImplemented_", _plain("binding", method_file())),
    (r"at::_ops::(\w+)::(?:call|redispatch)", _operator),
    (r"at::redispatch::(\w+)", _api(lambda base: f"{ATEN}/RedispatchFunctions.h")),
    (r"at::Tensor::(\w+)", _api(lambda base: f"{ATEN}/core/TensorBody.h")),
    (rf"(?:torch::autograd::)?VariableType::(\w+){_LAMBDAS}", _namespaced("VariableType", "autograd kernel")),
    (rf"(?:torch::)?ADInplaceOrView::(\w+){_LAMBDAS}", _namespaced("ADInplaceOrView", KERNELS["ADInplaceOrView"])),
    (rf"(?:torch::)?TraceType::(\w+){_LAMBDAS}", _namespaced("TraceType", "Tracer kernel")),
    (r"(?:at::)?functionalization::(\w+)()", _namespaced("functionalization", KERNELS["Functionalize"])),
    (r"(?:at::)?(wrapper_([A-Z]\w*?)_(\w+))", _wrapper),
    (r"(?:at::)?(?:meta::)?(structured_\w+::meta)", _structured("meta function")),
    (r"(?:at::)?(?:native::)?(structured_\w+::impl)", _structured("impl function")),
    (r"at::autocast::[\w:]+", _plain("autocast kernel")),
    (r"at::functorch::[\w:]+", _plain("transform")),
    (r"at::native::DispatchStub(?:Impl)?::\w.*", _plain("stub", "aten/src/ATen/native/DispatchStub.h")),
    (r"at::TensorIteratorBase::(?:serial_)?for_each", _plain("loop", ITERATOR)),
    (r"at::TensorIteratorBase::loop_2d_from_1d.*", _plain("loop", "aten/src/ATen/TensorIterator.h")),
    (r"at::native::(?:\w+::)?(?:cpu_kernel\w*|vectorized_\w+|VectorizedLoop2d::.*)", _plain("loop", LOOPS)),
    (r"at::(?:parallel_for|internal::invoke_parallel)(?:::\{lambda\})*", _plain("loop")),
    (r"c10::function_ref::callback_fn", _plain("loop")),
    (r"at::native::(?:\w+::)*\w+_kernel\w*(?:::\{lambda\})*", _plain("stub")),
    (r"at::native::(\w+)", _native),
    (
        r"torch::autograd::generated::details::\w+(?:::\{lambda\})*",
        _plain("formulas", "torch/csrc/autograd/FunctionsManual.cpp"),
    ),
    (r"torch::autograd::generated::\w+?(_apply_functional|)(?:::apply)?", _node),
    (r"torch::autograd::(?:Engine|GraphTask|ReadyQueue|InputBuffer)::[\w~]+", _plain("engine")),
    (r"torch::autograd::python::PythonEngine::[\w~]+", _plain("engine", PYTHON_ENGINE)),
    (r"c10::(?:Dispatcher|impl::OperatorEntry|DispatchKeyExtractor)::\w+", _plain("dispatcher")),
    (r"pybind11::.+", _plain("binding")),
    (r"at::(\w+)", _api(header)),
    (r"torch::(\w+)", _api(lambda base: f"{AUTOGRAD_FOLDER}/variable_factories.h")),
)


_PATTERNS = tuple((re.compile(pattern), known) for pattern, known in _RAW)
