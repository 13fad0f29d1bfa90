"""torchgen's parts: the function that reads each entry and the one that writes each file, in the order of a call.

They are compared with an installed torchgen (``tests/conformance/test_torchgen_parts_live.py``): it calls every part,
and every file comes from the named template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

GEN, MODEL, API = "torchgen/gen.py", "torchgen/model.py", "torchgen/api/autograd.py"
DEST, TOOLS = "torchgen/dest", "tools/autograd"


class Part(NamedTuple):
    """A function or a class of torchgen."""

    name: str
    file: str
    """The file in PyTorch's sources. ``tools/autograd`` is installed as ``torchgen/packaged/autograd``."""


PARSE = Part("parse_native_yaml", GEN)
FUNCTION = Part("NativeFunction", MODEL)
GROUPING = Part("get_grouped_native_functions", GEN)
GROUP = Part("NativeFunctionsGroup", MODEL)
LOAD = Part("load_derivatives", f"{TOOLS}/load_derivatives.py")
INFO = Part("DifferentiabilityInfo", API)
MATCH = Part("match_differentiability_info", API)
BOTH = Part("NativeFunctionWithDifferentiabilityInfo", API)

READERS = (PARSE, FUNCTION, GROUPING, GROUP, LOAD, INFO, MATCH, BOTH)
"""The functions that read the two yaml files."""


class Writer(NamedTuple):
    """A part that writes code for each operator into a file."""

    pattern: str
    """The pattern of the file's name."""
    what: str
    """A description of the code. ``{base}``, ``{identifier}`` and ``{node}`` stand for names of the operator."""
    part: Part
    template: str = ""
    """The template of the code; empty if it has the file's name."""
    derivatives: bool = False
    """True if it also reads ``derivatives.yaml``."""

    def template_of(self, file: str) -> str:
        """Return the template of a file."""
        return self.template or re.sub(r"(?:_\d+)?(\.\w+)$", r"\1", file.rpartition("/")[2])


WRITERS = (
    Writer(
        r"python_(?:torch_functions_\d|\w+_functions|variable_methods)\.cpp",
        "THPVariable_{base}: the function that Python calls, and its entry in the module's method table",
        Part("method_impl", f"{TOOLS}/gen_python_functions.py"),
    ),
    Writer(
        r"python_return_types\.cpp",
        "the named tuple that Python returns",
        Part("create_python_return_type_bindings", f"{TOOLS}/gen_python_functions.py"),
    ),
    Writer(r"TensorBody\.h", "Tensor::{base}, the C++ method", Part("ComputeTensorMethod", GEN)),
    Writer(
        r"ops/(?!\w*_(?:ops|native|meta|dispatch)\.h)\w+\.h",
        "at::{base}, the C++ function",
        Part("ComputeFunction", GEN),
        "Function.h",
    ),
    Writer(
        r"variable_factories\.h",
        "torch::{base} in C++, whose options may set requires_grad",
        Part("process_function", f"{TOOLS}/gen_variable_factories.py"),
    ),
    Writer(
        r"\w+_ops\.h",
        "struct at::_ops::{identifier}: name, schema, call, redispatch",
        Part("ComputeOperators", GEN),
        "Operator.h",
    ),
    Writer(
        r"Operators_\d\.cpp",
        "at::_ops::{identifier}::call and redispatch: the entry points of the dispatcher",
        Part("ComputeOperators", GEN),
    ),
    Writer(r"RegisterSchema\.cpp", "m.def: registers the operator's schema", Part("RegisterSchema", GEN)),
    Writer(
        r"RegisterBackendSelect\.cpp",
        "the BackendSelect kernel, which selects the backend from dtype, layout and device",
        Part("ComputeBackendSelect", GEN),
    ),
    Writer(
        r"TraceType_\d\.cpp",
        "the Tracer kernel, for torch.jit.trace",
        Part("gen_trace_type_func", f"{TOOLS}/gen_trace_type.py"),
    ),
    Writer(
        r"VariableType_\d\.cpp",
        "the autograd kernel: creates the Node, saves tensors, redispatches the call",
        Part("gen_variable_type_func", f"{TOOLS}/gen_variable_type.py"),
        derivatives=True,
    ),
    Writer(
        r"RedispatchFunctions\.h",
        "at::redispatch::{base}, which VariableType calls to redispatch",
        Part("ComputeRedispatchFunction", GEN),
    ),
    Writer(
        r"ADInplaceOrViewType_\d\.cpp",
        "the ADInplaceOrView kernel: versions of in-place operators, and views",
        Part("gen_inplace_or_view_type_env", f"{TOOLS}/gen_inplace_or_view_type.py"),
        derivatives=True,
    ),
    Writer(
        r"ViewFuncs\.(?:h|cpp)",
        "the class that regenerates the view from its base",
        Part("process_function", f"{TOOLS}/gen_view_funcs.py"),
        derivatives=True,
    ),
    Writer(
        r"RegisterFunctionalization_\d\.cpp",
        "the Functionalize kernel",
        Part("gen_functionalization_definition", "torchgen/gen_functionalization_type.py"),
    ),
    Writer(
        r"ViewMetaClasses\.h",
        "for functionalization: the class that regenerates the view",
        Part("gen_functionalization_view_meta_classes_decl", "torchgen/gen_functionalization_type.py"),
    ),
    Writer(
        r"ViewMetaClasses\.cpp",
        "for functionalization: the member functions of that class",
        Part("gen_functionalization_view_meta_classes_impl", "torchgen/gen_functionalization_type.py"),
    ),
    Writer(
        r"FunctionalInverses\.h",
        "for functionalization: declares the inverse of the view, which is written by hand",
        Part("gen_functionalization_view_inverse_declaration", "torchgen/gen_functionalization_type.py"),
    ),
    Writer(
        r"CompositeViewCopyKernels\.cpp",
        "a kernel that calls another variant of the operator",
        Part("GenCompositeViewCopyKernel", "torchgen/gen_functionalization_type.py"),
    ),
    Writer(
        r"VmapGeneratedPlumbing\.h",
        "{identifier}_generated_plumbing: for vmap, removes the batch dimension and adds it again",
        Part("ComputeBatchRulePlumbing", "torchgen/gen_vmap_plumbing.py"),
    ),
    Writer(
        r"Register(?!Schema|BackendSelect|Functionalization)\w+_\d\.cpp",
        "the wrapper around the kernel of a key, and its m.impl; also the classes of a structured kernel",
        Part("RegisterDispatchKey", f"{DEST}/register_dispatch_key.py"),
        "RegisterDispatchKey.cpp",
    ),
    Writer(
        r"\w+_dispatch\.h",
        "the kernel of a key as a C++ function, without the dispatcher (at::cpu::{base} if the CPU has its own)",
        Part("RegisterDispatchKey", f"{DEST}/register_dispatch_key.py"),
        "DispatchKeyFunction.h",
    ),
    Writer(
        r"\w+_meta\.h",
        "the class of the structured kernel with its meta function, which NativeMetaFunctions.h includes",
        Part("compute_meta_function_declaration", GEN),
        "NativeMetaFunction.h",
    ),
    Writer(
        r"\w+_native\.h",
        "declares the functions behind the kernels; NativeFunctions.h includes it",
        Part("compute_native_function_declaration", f"{DEST}/native_functions.py"),
        "NativeFunction.h",
    ),
    Writer(
        r"UfuncCPU_\w+\.cpp",
        "impl for the CPU: calls the stub",
        Part("compute_ufunc_cpu", f"{DEST}/ufunc.py"),
        "UfuncCPU.cpp",
    ),
    Writer(
        r"UfuncCPUKernel_\w+\.cpp",
        "the loops behind the stub, for each dtype",
        Part("compute_ufunc_cpu_kernel", f"{DEST}/ufunc.py"),
        "UfuncCPUKernel.cpp",
    ),
    Writer(
        r"UfuncCUDA_\w+\.cu",
        "impl for CUDA, and its GPU kernels",
        Part("compute_ufunc_cuda", f"{DEST}/ufunc.py"),
        "UfuncCUDA.cu",
    ),
    Writer(
        r"generated/Functions\.(?:h|cpp)",
        "{node}: the Node's class, and its formulas in apply",
        Part("process_function", f"{TOOLS}/gen_autograd_functions.py"),
        derivatives=True,
    ),
    Writer(
        r"python_functions_\d\.cpp",
        "{node} as Python sees it, with its _saved_ properties",
        Part("process_function", f"{TOOLS}/gen_autograd_functions.py"),
        derivatives=True,
    ),
    Writer(
        r"RegistrationDeclarations\.h",
        "a comment for authors of backends, who register their own kernels",
        Part("compute_registration_declarations", GEN),
    ),
)
"""The writers, in the order in which a call uses their code. Those that only other code of PyTorch uses come last."""


def writer_of(file: str) -> Writer | None:
    """Return the part that writes into a generated file."""
    return next((writer for writer in WRITERS if re.search(rf"/{writer.pattern}$", file)), None)


def in_order(files: Iterable[str]) -> list[tuple[Writer, list[str]]]:
    """Group files by the part that writes them, in the order of ``WRITERS``."""
    found: dict[Writer, list[str]] = {}
    for file in files:
        if (writer := writer_of(file)) is not None:
            found.setdefault(writer, []).append(file)
    return [(writer, found[writer]) for writer in WRITERS if writer in found]
