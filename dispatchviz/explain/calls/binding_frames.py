"""The frames between Python and an operator's entry point: the lambda of a binding, the C++ API, ``torch.ops``.

``tools/autograd/gen_python_functions.py`` writes a binding: a parser, and a lambda for each signature, which releases
the GIL and calls the C++ API. ``torchgen/api/python.py``, ``cpp_dispatch_target``, decides which function it calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.explain.calls.call_stack import Frame
from dispatchviz.explain.codegen.definitions import FUNCTIONS, entry, entry_field, names
from dispatchviz.explain.codegen.generated_files import ATEN, AUTOGRAD, header
from dispatchviz.explain.locations.pytorch_locations import binding_file

# fmt: off
BY_HAND = frozenset(
    {
        "contiguous", "copy_", "cpu", "cuda", "get_device", "is_contiguous", "item", "nonzero", "numel",
        "numpy", "requires_grad_", "set_", "size", "stride", "storage_offset", "to", "type", "double", "float",
        "half", "long", "int", "bool", "byte", "char", "short", "bfloat16", "cfloat", "cdouble", "invert",
        "new", "new_tensor", "range", "gradient", "from_numpy", "frombuffer", "tensor", "as_tensor", "asarray",
    }
)
# fmt: on
"""The bindings without a lambda (``python_variable_methods.cpp``, ``python_torch_functions_manual.cpp``)."""

PARSER = (
    "PythonArgParser::parse fills ParsedArgs by signature {number}, the first that fits: {signature}. wrap makes a "
    "Python object of the result"
)
NO_PARSER = "takes no arguments, so there is no parser. wrap makes a Python object of the result"
GIL = "pybind11::gil_scoped_release: other Python threads may run until it returns"

UTILS = "torch/csrc/jit/python/pybind_utils.cpp"
TORCH_OPS = (
    ("pybind11::cpp_function::dispatcher", "third_party/pybind11/include/pybind11/pybind11.h", ""),
    ("torch::jit::initJITBindings::{lambda}", "torch/csrc/jit/python/init.cpp", ""),
    ("torch::jit::_get_operation_for_overload_or_packet", UTILS, ""),
    (
        "torch::jit::invokeOperatorFromPython",
        UTILS,
        ("makes a Stack of IValues from the Python arguments, by the schema"),
    ),
)
"""The functions by which ``torch.ops`` calls an operator."""

OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
"""The arguments that are one ``TensorOptions`` in C++."""

PYTHON = (ev.SourceLine, ev.FunctionEntered, ev.TorchDispatchEntered)
"""The steps that run Python code."""


def note_of(binding: ev.BindingEntered) -> str:
    """The work of a generated binding before and after it calls its lambda."""
    if not is_generated(binding):
        return ""
    if takes_nothing(binding):
        return NO_PARSER
    return PARSER.format(signature=binding.signature, number=binding.signatures_tried)


def takes_nothing(binding: ev.BindingEntered) -> bool:
    """Return whether a binding is a method whose only signature is empty, and so has no parser."""
    base = binding.operator.removeprefix("aten::").partition(".")[0]
    return binding.function.startswith("Tensor.") and binding.signature == f"{base}()" and methods(base) == 1


@cache
def methods(base: str) -> int:
    """The number of overloads of an operator that are methods of Tensor."""
    return sum(name.partition(".")[0] == base and "method" in variants(name) for name in names(FUNCTIONS))


def is_generated(binding: ev.BindingEntered) -> bool:
    """Return whether ``gen_python_functions.py`` writes a binding."""
    name, operator = binding.pytorch_function.removeprefix("THPVariable_"), binding.operator
    base = operator.removeprefix("aten::").partition(".")[0]
    return bool(binding_file(binding)) and base == name and name not in BY_HAND and variants(operator) != ""


def variants(operator: str) -> str:
    """``function, method``; empty for an operator without an entry in our ``native_functions.yaml``."""
    own = entry(FUNCTIONS, operator.removeprefix("aten::"))
    return "" if own is None else entry_field(own, "variants") or "function"


def binding_frames(binding: ev.BindingEntered, call: ev.Dispatched) -> Iterator[Frame]:
    """Yield the frames between a generated binding and the operator that it calls."""
    if not is_generated(binding) or call.operator not in (binding.operator, out_variant(binding.operator)):
        return
    yield Frame(f"{binding.pytorch_function}::{{lambda}}", binding_file(binding), call.seq, "binding", GIL)
    for title, file in called_api(call.operator):
        yield Frame(title, file, call.seq, "API")


@cache
def out_variant(operator: str) -> str:
    """The out operator that shares a signature with an operator: ``aten::add.out`` for ``aten::add.Tensor``.

    ``tools/autograd/gen_python_functions.py``, ``group_overloads``, makes one signature of two operators whose
    arguments differ only in ``out`` and the options of a factory. Empty if there is none.
    """
    schema, base = pytorch_signature(operator), operator.removeprefix("aten::").partition(".")[0]
    if schema is None or takes_out(schema):
        return ""
    own = _inputs(schema)
    same = (f"aten::{name}" for name in names(FUNCTIONS) if name.partition(".")[0] == base)
    outs = ((name, of) for name in same if (of := pytorch_signature(name)) and takes_out(of))
    return next((name for name, of in outs if _inputs(of) == own), "")


def _inputs(schema: FunctionSchema) -> list[tuple[str, str]]:
    left_out = OPTIONS if takes_options(schema) else frozenset()
    arguments = (each for each in schema.arguments if not each.is_out and each.name not in left_out)
    return [(each.name, each.type) for each in arguments]


def called_api(operator: str) -> Iterator[tuple[str, str]]:
    """Yield the C++ functions that a generated binding calls, each with its header. The last one calls ``at::_ops``."""
    base, schema = operator.removeprefix("aten::").partition(".")[0], pytorch_signature(operator)
    if schema is None:
        return
    function = cpp_name(schema, "_out")
    if "method" in variants(operator):
        yield f"at::Tensor::{function}", f"{ATEN}/core/TensorBody.h"
        return
    if base.endswith("_like") or takes_options(schema):
        yield f"torch::{function}", f"{AUTOGRAD}/variable_factories.h"
    yield f"at::{function}", header(base)


def cpp_name(schema: FunctionSchema, out: str) -> str:
    """The name of the C++ function: ``view_symint`` for ``view``. ``out`` is the suffix of a function with ``out``.

    ``torchgen/api/cpp.py``, ``name``: a C++ function has no overload name, and one with SymInts has a suffix.
    """
    symint = "_symint" if any("SymInt" in argument.type for argument in schema.arguments) else ""
    return f"{schema.name.removeprefix('aten::')}{symint}{out if takes_out(schema) else ''}"


def takes_out(schema: FunctionSchema) -> bool:
    """Return whether a schema is that of an operator's out form."""
    return any(argument.is_out for argument in schema.arguments)


def takes_options(schema: FunctionSchema) -> bool:
    """Return whether a schema has the four arguments that are one ``TensorOptions`` in C++."""
    return {argument.name for argument in schema.arguments} >= OPTIONS


@lru_cache(maxsize=512)
def pytorch_signature(operator: str) -> FunctionSchema | None:
    """PyTorch's schema of an operator; None if only a program, or a damaged trace, has it."""
    from dispatchviz.core.table.pytorch_registrations import pytorch_schema  # brings all of the table

    try:
        return parse_schema(pytorch_schema(operator))
    except KeyError:
        return None


def torch_ops_frames(caller: ev.AnyEvent | None, call: ev.Dispatched) -> Iterator[Frame]:
    """Yield the frames between Python and a boxed call that Python code makes."""
    if call.how == "callBoxed" and (isinstance(caller, PYTHON) or is_python(caller)):
        for title, file, note in TORCH_OPS:
            yield Frame(title, file, call.seq, "binding", note)


def is_python(kernel: ev.AnyEvent | None) -> bool:
    """Return whether an event is a kernel that is a Python function."""
    if not isinstance(kernel, ev.KernelEntered) or not kernel.pytorch_file:
        return False
    return not kernel.pytorch_file.endswith((".cpp", ".h", ".cu"))
