"""The generator of ``generated/python_bindings.py``: the signatures that ``torch.add`` and ``Tensor.add`` parse, and
the functions that they call.

A functional operator and its out= variant share one signature, and the four tensor options become dtype, layout,
device, pin_memory and requires_grad, as in ``tools/autograd/gen_python_functions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dispatchviz.core.codegen.model import NativeFunction, Specification
from dispatchviz.core.codegen.overload_order import sorted_overloads
from dispatchviz.core.codegen.pages import page
from dispatchviz.core.codegen.return_types import class_name, is_named
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.schema.python_signature import DTYPES, python_name

SKIPPED_OVERLOADS = (
    "range",
    *(f"{name}.Scalar" for name in ("add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_")),
)
"""Overloads without a Python signature of their own: that of the Tensor overload accepts numbers too."""

HANDWRITTEN = (
    "to",
    "copy_",
    "requires_grad_",
    "contiguous",
    "detach_",
    "item",
    "lift_fresh",
    "record_stream",
    *("conj", "is_conj", "is_neg", "_is_zerotensor"),
)
"""Bindings that ``python_bindings_manual.py`` writes by hand (template of ``python_variable_methods.cpp``)."""

HIDDEN = (
    *("_to_copy", "_local_scalar_dense", "_reshape_alias", "slice", "index", "_unsafe_view", "nonzero_numpy"),
    *("_fw_primal", "_has_same_storage_numel", "_new_zeros_with_same_feature_meta"),
    *("softmax_backward_data", "norm"),
    "set_",
)
"""Operators that Python does not see. NB: PyTorch's Python sees ``set_``; here its signatures for storages are written
by hand.
"""

_HIDDEN = re.compile(r".*_backward|.*_backward_(out|input|weight|bias)|.*_forward|.*_jvp")
"""A pattern of further hidden names (``_SKIP_PYTHON_BINDINGS`` in ``gen_python_functions.py``)."""

_OF_MATRICES = {"addmm": "mat1 mat2", "addmv": "mat vec", "addr": "vec1 vec2"}
_OF_BATCHES = dict.fromkeys(("addbmm", "baddbmm"), "batch1 batch2")
DEPRECATED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "sub"), ("self alpha other",)),
    **dict.fromkeys(("addcdiv", "addcmul"), ("self value tensor1 tensor2",)),
    **{
        name: (f"beta self alpha {others}", f"beta self {others}")
        for name, others in {**_OF_MATRICES, **_OF_BATCHES}.items()
    },
}
"""Deprecated signatures by function, with numbers before tensors. They are tried first
(``tools/autograd/deprecated.yaml``).
"""

_NUMBERS = ("alpha", "beta", "value")

_AND_NUMBERS = "*, Number beta = 1, Number alpha = 1, Tensor out = None)"
NOT_MODELLED = {
    "mm": ("(Tensor input, Tensor mat2, torch.dtype out_dtype, *, Tensor out = None)", "last"),
    "bmm": ("(Tensor input, Tensor mat2, torch.dtype out_dtype, *, Tensor out = None)", "last"),
    "addmm": (f"(Tensor input, Tensor mat1, Tensor mat2, torch.dtype out_dtype, {_AND_NUMBERS}", "last"),
    "baddbmm": (f"(Tensor input, Tensor batch1, Tensor batch2, torch.dtype out_dtype, {_AND_NUMBERS}", "last"),
}
"""Signatures of overloads that the model does not have, and their place. Error messages show them."""

_TYPES = {
    "Scalar": "Number",
    "ScalarType": "torch.dtype",
    "Layout": "torch.layout",
    "Device": "torch.device",
    "MemoryFormat": "torch.memory_format",
    "Generator": "torch.Generator",
}

_OPTIONS = ("dtype", "layout", "device", "pin_memory")


@dataclass(frozen=True)
class Overload:
    """One signature of a binding."""

    function: NativeFunction
    out: NativeFunction | None
    method: bool

    @property
    def arguments(self) -> list[Argument]:
        """The arguments of the schema, for methods without self."""
        arguments = list(self.function.schema.arguments)
        return [a for a in arguments if a.name != "self"] if self.method else arguments

    @property
    def is_factory(self) -> bool:
        """True if it accepts requires_grad too."""
        return self.function.is_factory


def text(spec: Specification) -> str:
    """The text of the module with the functions of ``torch`` and the methods of Tensor."""
    parts = [*_parts(spec, "torch"), *_parts(spec, "Tensor")]
    mirrors = "torch/csrc/autograd/generated/python_torch_functions_*.cpp and python_variable_methods.cpp"
    return _page("Python bindings: functions of ``torch`` and methods of Tensor.", mirrors, parts)


def module_text(spec: Specification, module: str) -> str:
    """The text of the module with the functions of a submodule such as ``torch._C._nn``."""
    mirrors = f"torch/csrc/autograd/generated/python_{module}_functions.cpp"
    return _page(f"Python bindings: functions of ``torch._C._{module}``.", mirrors, list(_parts(spec, module)))


def _parts(spec: Specification, space: str) -> Iterator[str]:
    for base in spec.by_base:
        overloads = list(_overloads(spec, base, space))
        if overloads and not is_hidden(base):
            yield from _binding(base, overloads, space)


def is_hidden(base: str) -> bool:
    """Return whether Python does not see an operator."""
    return base in HIDDEN or bool(_HIDDEN.fullmatch(base))


def _page(title: str, mirrors: str, parts: list[str]) -> str:
    return page(title, mirrors, _IMPORTS, parts)


_IMPORTS = {
    "dispatchviz.core.autograd.variables.requires_grad_flag": ("make_variable", "new_variable"),
    "dispatchviz.core.bindings.binding": ("Binding", "Operator", "check_out_type_matches", "not_modelled"),
    "dispatchviz.core.bindings.default_device": ("check_compiled", "device_or_default"),
    "dispatchviz.core.tensor.dtype": ("int64",),
    "dispatchviz.core.generated": ("operators as ops", "return_types"),
    "dispatchviz.core.thread.guards": ("AutoDispatchBelowADInplaceOrView",),
}


def _overloads(spec: Specification, base: str, space: str) -> Iterator[Overload]:
    if base in HANDWRITTEN:
        return
    group = spec.by_base[base]
    method = space == "Tensor"
    found = []
    for function in group:
        wanted = function.method if method else function.function and (function.python_module or "torch") == space
        if wanted and not function.out_arguments and function.name not in SKIPPED_OVERLOADS:
            found.append(Overload(function, None if method else _out_of(function, group), method))
    yield from sorted_overloads(found)


def _out_of(function: NativeFunction, group: Iterable[NativeFunction]) -> NativeFunction | None:
    ignored = (*_OPTIONS, "memory_format") if function.is_factory else ()
    names = [(a.name, a.type) for a in function.schema.arguments if a.name not in ignored]
    for other in group:
        written = (*other.out_arguments, *ignored)
        inputs = [(a.name, a.type) for a in other.schema.arguments if a.name not in written]
        if other.out_arguments and inputs == names:
            return other
    return None


def _binding(base: str, overloads: list[Overload], space: str) -> Iterator[str]:
    prefix, method = space, space == "Tensor"
    rows = []
    for index, old in enumerate(DEPRECATED.get(base.removesuffix("_"), ())):
        if not method and base.endswith("_"):
            break
        name = f"_{prefix}_{base}_deprecated{index or ''}"
        definition, row = _deprecated(name, old.split(), overloads, base, method)
        yield definition
        rows.append(row)
    for overload in overloads:
        name = f"_{prefix}_{overload.function.identifier}"
        if _just_calls(overload):
            name = f'"ops.{overload.function.identifier}.call"'
        else:
            yield f"def {name}({_parameters(overload)}) -> Any:\n" + "\n".join(_body(overload)) + "\n"
        operator = overload.function.schema.full_name
        signature = _signature(overload).replace('"', r"\"")
        rows.append(f'("{signature}", {name}, "{operator}"{_without_out(overload)})')
    if base in NOT_MODELLED and method == ("Tensor input" not in NOT_MODELLED[base][0]):
        signature, place = NOT_MODELLED[base]
        rows.insert(0 if place == "first" else len(rows), f'("{base}{signature}", not_modelled, "")')
    variable = f"Tensor_{base}" if method else python_name(base)
    owner = prefix if prefix in ("torch", "Tensor") else f"torch._C._{prefix}"
    kind = "Operator" if base.startswith("__") else "Binding"
    yield f'{variable} = {kind}("{owner}.{base}", {", ".join(rows)})\n'


def _just_calls(overload: Overload) -> bool:
    """Return whether the signature has the operator's own arguments in its own order."""
    shown = [*(["self"] if overload.method else []), *_shown_arguments(overload)]
    names = [argument.name for argument in overload.function.schema.arguments]
    plain = not _gives_list(overload) and not is_named(overload.function)
    return not overload.is_factory and overload.out is None and shown == names and plain


def _gives_list(overload: Overload) -> bool:
    """Return whether users get a tuple of tensors."""
    return [r.type for r in overload.function.schema.returns] == ["Tensor[]"]


def _without_out(overload: Overload) -> str:
    """The function that may run instead if ``out``, the last parameter, is not given."""
    names = [argument.name for argument in overload.function.schema.arguments]
    if overload.is_factory or overload.out is None or is_named(overload.function) or _gives_list(overload):
        return ""
    if _shown_arguments(overload)[:-1] != names:
        return ""
    return f', "ops.{overload.function.identifier}.call"'


def _deprecated(name: str, old: list[str], overloads: list[Overload], base: str, method: bool) -> tuple[str, str]:
    """The function for a deprecated signature, and its row in the binding."""
    overload = next(one for one in overloads if _takes(one.function, old))
    arguments = [a.name if a.name in old else "1" for a in overload.function.schema.arguments]
    taken = ["self", *(n for n in old if n != "self")] if method else [*old, "out"]
    shown = [f"{'Number' if n in _NUMBERS else 'Tensor'} {'input' if n == 'self' else n}" for n in old]
    if method:
        shown.remove("Tensor input")
    signature = f"{base}({', '.join(shown)}{'' if method else ', *, Tensor out = None'})|deprecated"
    body = [f"    return ops.{overload.function.identifier}.call({', '.join(arguments)})\n"]
    if not method:
        assert overload.out is not None
        written = f"ops.{overload.out.identifier}.call({', '.join([*arguments, 'out'])})"
        body.insert(0, f"    if out is not None:\n        return {written}\n")
    head = f"def {name}({', '.join(f'{n}: Any' for n in taken)}) -> Any:\n"
    row = f'("{signature}", {name}, "{overload.function.schema.full_name}")'
    return head + "".join(body), row


def _takes(function: NativeFunction, old: list[str]) -> bool:
    found = {a.name: a.type for a in function.schema.arguments}
    return all(found.get(n) == ("Scalar" if n in _NUMBERS else "Tensor") for n in old)


def _shown_arguments(overload: Overload) -> list[str]:
    """The names in the order of the signature, with the options at the end."""
    last = {a.name for a in overload.arguments if a.name in _OPTIONS and (a.kwarg_only or overload.is_factory)}
    plain = [a.name for a in overload.arguments if a.name not in last]
    options = [*(["out"] if overload.out else []), *(_OPTIONS if overload.is_factory else ())]
    if not overload.is_factory:
        options = [*(a.name for a in overload.arguments if a.name in last), *options]
    memory = [name for name in plain if name == "memory_format"]
    plain = [name for name in plain if name not in memory]
    return [*plain, *memory, *options, *(["requires_grad"] if overload.is_factory else [])]


def _parameters(overload: Overload) -> str:
    names = [*(["self"] if overload.method else []), *map(python_name, _shown_arguments(overload))]
    return ", ".join(f"{name}: Any" for name in names)


def _signature(overload: Overload) -> str:
    """The signature in PyTorch's notation: ``add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out =
    None)``.
    """
    by_name = {a.name: a for a in overload.arguments}
    words: list[str] = []
    star = False
    for name in _shown_arguments(overload):
        argument = by_name.get(name)
        keyword = argument is None or argument.kwarg_only
        if keyword and not star:
            words.append("*")
            star = True
        words.append(_word(overload, name, argument))
    return f"{overload.function.base}({', '.join(words)})"


def _word(overload: Overload, name: str, argument: Argument | None) -> str:
    if name == "out":
        return "tuple of Tensors out = None" if _is_several(overload.out) else "Tensor out = None"
    if name == "requires_grad":
        return "bool? requires_grad = False"
    if name == "pin_memory" and overload.is_factory:
        return "bool? pin_memory = False"
    assert argument is not None
    kind = argument.type.rstrip("?")
    if kind in ("Tensor[]", "Tensor?[]"):
        return f"tuple of Tensors {name}"
    if kind == "Scalar[]":
        return f"tuple of Scalars {name}"
    if kind == "float[]":
        optional = "?" if argument.type.endswith("?") else ""
        return f"tuple of floats{optional} {name}{_default(overload, argument)}"
    if "[" in kind:
        inside, _, size = kind.partition("[")
        kind = f"tuple of {inside}s[{size}".removesuffix("[]")
    kind = _TYPES.get(kind, kind)
    optional = "?" if argument.type.endswith("?") and argument.default is None else ""
    shown = "input" if name == "self" and argument.type == "Tensor" else name
    return f"{kind}{optional} {shown}{_default(overload, argument)}"


def _is_several(out: NativeFunction | None) -> bool:
    """Return whether users give a tuple: several tensors, or a list of them."""
    if out is None:
        return False
    first = next(a for a in out.schema.arguments if a.name in out.out_arguments)
    return len(out.out_arguments) > 1 or first.type == "Tensor[]"


def _default(overload: Overload, argument: Argument) -> str:
    if argument.default is None:
        return ""
    if argument.name == "reduction":
        return " = 0"  # written ``at::Reduction::Mean``, which PyTorch's parser reads as the number 0
    hidden = argument.default in DTYPES or argument.default.endswith("_format")
    return f" = {'None' if hidden else argument.default.replace(' ', '')}"


def _body(overload: Overload) -> Iterator[str]:
    if overload.is_factory:
        yield from _factory_body(overload)
        return
    arguments = [python_name(a.name) for a in overload.function.schema.arguments]
    if overload.out is not None:
        given = "out" if len(overload.out.out_arguments) == 1 else "*out"
        yield "    if out is not None:"
        yield f"        return {_wrapped(overload.out, [*arguments, given])}"
    yield f"    return {_wrapped(overload.function, arguments)}"


def _wrapped(function: NativeFunction, arguments: list[str]) -> str:
    """The call as users see its result: as a tuple of tensors, as a named tuple, or unchanged."""
    call = f"ops.{function.identifier}.call({', '.join(arguments)})"
    if is_named(function):
        if "Tensor[]" in [r.type for r in function.schema.returns]:
            call = f"[tuple(one) if isinstance(one, list) else one for one in {call}]"
        return f"return_types.{class_name(function)}({call})"
    return f"tuple({call})" if [r.type for r in function.schema.returns] == ["Tensor[]"] else call


def _factory_body(overload: Overload) -> Iterator[str]:
    function = overload.function
    arguments = ", ".join(python_name(a.name) for a in function.schema.arguments)
    follows = any(a.name == "self" for a in function.schema.arguments)
    if overload.out is not None:
        yield "    if out is not None:"
        yield "        check_out_type_matches(out, dtype, device)"
    if follows:
        yield "    if device is not None:"
        yield "        check_compiled(device)"
    else:
        yield "    device = device_or_default(device)"
    for argument in function.schema.arguments:
        if argument.default in DTYPES:
            yield f"    {argument.name} = {DTYPES[argument.default]} if {argument.name} is None else {argument.name}"
    if overload.out is not None:
        inputs = [
            python_name(a.name) for a in overload.out.schema.arguments if a.name not in overload.out.out_arguments
        ]
        yield "    if out is not None:"
        yield f"        result = ops.{overload.out.identifier}.call({', '.join([*inputs, 'out'])})"
        yield "        return make_variable(result, requires_grad)"
    if overload.method:  # ``new_zeros`` and similar ones: not factories, but ordinary methods
        yield f"    result = ops.{function.identifier}.call({arguments})"
    else:
        yield "    with AutoDispatchBelowADInplaceOrView():"
        yield f"        result = ops.{function.identifier}.call({arguments})"
    yield f"    return {'make' if overload.method else 'new'}_variable(result, requires_grad)"
