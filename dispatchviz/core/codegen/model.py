"""The two yaml files as values: every key is taken out into a field, whatever is left over is an error.

The grammar is that of PyTorch's ``native_functions.yaml`` and ``derivatives.yaml`` (``torchgen/model.py``,
``tools/autograd/load_derivatives.py``); formulas are Python expressions here. Past this module nobody meets a dict or
an unparsed string.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dispatchviz.core.schema import FunctionSchema, SchemaError

DISPATCH_KEYS = (
    "CPU",
    "CUDA",
    "Meta",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
"""Keys that an entry may name under ``dispatch``."""


class SpecError(Exception):
    """A mistake in one of the yaml files: file, line, name, what was allowed."""


@dataclass(frozen=True)
class Location:
    """Where an entry stands."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class NativeFunction:
    """One entry of native_functions.yaml."""

    schema: FunctionSchema
    where: Location
    function: bool
    """It is in ``torch``."""
    method: bool
    """It is a method of Tensor."""
    structured: bool
    structured_delegate: str
    """Name of the structured out operator, or empty."""
    dispatch: Mapping[str, str]
    """Dispatch key to kernel name."""
    python_module: str = ""
    """Where users find it if not in ``torch``: ``nn``, ``linalg`` or ``special`` of ``torch._C``."""
    precomputed: str = ""
    """The argument of a structured kernel in whose place the impl gets what the meta function returns; or empty."""

    @property
    def name(self) -> str:
        """``add.Tensor``, without the namespace."""
        return self.schema.full_name.removeprefix("aten::")

    @property
    def base(self) -> str:
        """``add``, ``add_``: the name without the overload."""
        return self.schema.name.removeprefix("aten::")

    @property
    def identifier(self) -> str:
        """``add_Tensor``, ``add__Tensor``: PyTorch's name of the operator's class in ``at::_ops``."""
        return self.name.replace(".", "_")

    @property
    def cpp_name(self) -> str:
        """Name of the C++ function: ``add``, ``add_``, and ``add_out`` for out= variants."""
        return f"{self.base}_out" if self.out_arguments else self.base

    @property
    def kernel_identifier(self) -> str:
        """``add_Tensor``, ``add_out_out``: how PyTorch's generated kernels are called."""
        overload = self.name.partition(".")[2]
        return f"{self.cpp_name}_{overload}" if overload else self.cpp_name

    @property
    def result_names(self) -> tuple[str, ...]:
        """How formulas call the results: their names in the schema, else ``result`` or ``result0``, ``result1``."""
        returns = self.schema.returns
        if len(returns) == 1:
            return ("result",)
        return tuple(r.name or f"result{index}" for index, r in enumerate(returns))

    @property
    def inplace(self) -> bool:
        """It writes to its first argument (``add_``)."""
        return self.base.endswith("_") and not self.base.endswith("__")

    @property
    def out_arguments(self) -> tuple[str, ...]:
        """The arguments that an out= operator writes to; empty for others."""
        return tuple(a.name for a in self.schema.arguments if a.kwarg_only and a.alias and a.alias.endswith("!"))

    @property
    def view(self) -> bool:
        """Its result aliases an argument that it does not write. ``lift_fresh`` only says so."""
        return self.base != "lift_fresh" and any(r.alias and not r.alias.endswith("!") for r in self.schema.returns)

    @property
    def is_factory(self) -> bool:
        """It takes the four tensor options."""
        names = {a.name for a in self.schema.arguments}
        return {"dtype", "layout", "device", "pin_memory"} <= names

    @property
    def composite_implicit(self) -> bool:
        """Nothing but a composite kernel: its derivatives come from the operators that it calls."""
        return "CompositeImplicitAutograd" in self.dispatch


@dataclass(frozen=True)
class Derivative:
    """One entry of derivatives.yaml."""

    function: NativeFunction
    where: Location
    node: str
    """``AddBackward0``."""
    formulas: Mapping[tuple[str, ...], str]
    """Argument names, in the yaml's alphabetical order of evaluation, to the expression."""
    non_differentiable: frozenset[str]
    condition: str
    """A Python expression over the arguments: without it the result is not differentiable; empty: it always is."""
    differentiable: tuple[bool, ...]
    """Of each result, whether it may have a history; formulas that name a single ``grad`` leave it to the first."""
    forward: Mapping[str, str] = field(default_factory=dict)
    """Result to the expression for its tangent, ``auto_linear`` or ``auto_element_wise``."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments with a formula, in schema order: one edge each."""
        with_formula = {name for names in self.formulas for name in names}
        return tuple(a.name for a in self.function.schema.arguments if a.name in with_formula)


@dataclass(frozen=True)
class Specification:
    """Both files."""

    functions: Mapping[str, NativeFunction]
    derivatives: Mapping[str, Derivative]
    """By operator name; in-place variants without an entry of their own share the functional one."""
    nodes: Mapping[str, Derivative] = field(default_factory=dict)
    """By node name."""


def load(native_functions: Path, derivatives: Path) -> Specification:
    """Reads both files. SpecError for the first mistake."""
    functions: dict[str, NativeFunction] = {}
    for entry, where in _entries(native_functions):
        function = _parse_function(entry, where)
        if function.name in functions:
            raise SpecError(f"{where}: {function.name} is already defined at {functions[function.name].where}")
        functions[function.name] = function
    for function in functions.values():
        if function.structured_delegate and function.structured_delegate not in functions:
            raise SpecError(
                f"{function.where}: structured_delegate names {function.structured_delegate!r}, not an entry"
            )
    own = dict(_parse_derivatives(derivatives, functions))
    nodes = {derivative.node: derivative for derivative in own.values()}
    return Specification(functions, {**dict(_shared_with_inplace(functions, own)), **own}, nodes)


def structured_group(functions: Mapping[str, NativeFunction], function: NativeFunction) -> NativeFunction | None:
    """The structured out operator behind a function, itself included."""
    return function if function.structured else functions.get(function.structured_delegate)


def functional_of(functions: Mapping[str, NativeFunction], out: NativeFunction) -> NativeFunction:
    """The functional member of a structured family; its name is the family's."""
    family = (f for f in functions.values() if f.structured_delegate == out.name and not f.inplace)
    return next(family)


def _entries(path: Path) -> Iterator[tuple[dict[str, Any], Location]]:
    """Each mapping of the top-level list, with its line."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = path.read_text(encoding="utf-8")
    try:
        top = yaml.compose(text, Loader=loader)
        values = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise SpecError(f"{path.name}: not valid yaml: {error}") from None
    if not isinstance(top, yaml.SequenceNode):
        raise SpecError(f"{path.name}: the file must be a list of entries")
    for node, value in zip(top.value, values, strict=True):
        yield dict(value), Location(path.name, node.start_mark.line + 1)


def _schema(text: str, where: Location) -> FunctionSchema:
    try:
        return FunctionSchema.parse(f"aten::{text.replace('=Mean', '=1')}")  # at::Reduction::Mean
    except SchemaError as error:
        raise SpecError(f"{where}: {error}") from None


_IGNORED = ("device_check", "device_guard", "python_module", "structured_inherits", "tags")
"""Fields of PyTorch's grammar that say nothing to this generator."""


def _parse_function(entry: dict[str, Any], where: Location) -> NativeFunction:
    schema = _schema(entry.pop("func"), where)
    variants = {word.strip() for word in entry.pop("variants", "function").split(",")}
    if not variants <= {"function", "method"}:
        raise SpecError(f"{where}: {schema.full_name}: variants may be function and method, not {', '.join(variants)}")
    structured = entry.pop("structured", False)
    delegate = entry.pop("structured_delegate", "")
    python_module = entry.pop("python_module", "")
    dispatch = dict(_dispatch(entry.pop("dispatch", {}), schema, where))
    if ufunc := entry.pop("ufunc_inner_loop", None):
        inner = ufunc["Generic"].partition(" ")[0]
        dispatch |= {key: f"ufunc_{inner}_{key}" for key in ("CPU", "CUDA")}
    precomputed = "".join(entry.pop("precomputed", [])).partition(" -> ")[0]
    for name in _IGNORED:
        entry.pop(name, None)
    if entry:
        raise SpecError(f"{where}: {schema.full_name}: unknown field {', '.join(entry)}")
    if not dispatch and not delegate:
        dispatch = {"CompositeImplicitAutograd": schema.name.removeprefix("aten::")}
    where_to = ("function" in variants, "method" in variants)
    return NativeFunction(schema, where, *where_to, structured, delegate, dispatch, python_module, precomputed)


def _dispatch(entry: Mapping[str, str], schema: FunctionSchema, where: Location) -> Iterator[tuple[str, str]]:
    for keys, kernel in entry.items():
        for key in (word.strip() for word in keys.split(",")):
            if key not in DISPATCH_KEYS:
                raise SpecError(
                    f"{where}: {schema.full_name}: dispatch key {key!r} is none of {', '.join(DISPATCH_KEYS)}"
                )
            yield key, kernel


def _parse_derivatives(path: Path, functions: Mapping[str, NativeFunction]) -> Iterator[tuple[str, Derivative]]:
    count: Counter[str] = Counter()
    for entry, where in _entries(path):
        schema = _schema(entry.pop("name"), where)
        name = schema.full_name.removeprefix("aten::")
        function = functions.get(name)
        if function is None:
            raise SpecError(f"{where}: {name} is not an operator of native_functions.yaml")
        if str(schema) != str(function.schema):
            raise SpecError(f"{where}: {name} is declared as {function.schema} at {function.where}, here as {schema}")
        stem = node_stem(function.base)
        differentiable = entry.pop("output_differentiability", [True])
        forward = {result: str(entry.pop(result)) for result in function.result_names if result in entry}
        formulas = _formulas(entry, schema, where)
        condition = differentiable[0] if isinstance(differentiable[0], str) else ""
        outputs = _differentiable(formulas[0], function, differentiable)
        yield name, Derivative(function, where, f"{stem}{count[stem]}", *formulas, condition, outputs, forward)
        count[stem] += 1


def _differentiable(
    formulas: Mapping[tuple[str, ...], str], function: NativeFunction, given: list[bool | str]
) -> tuple[bool, ...]:
    """``gen_differentiable_outputs``: what the entry says, else the first result, or all if formulas use ``grads``."""
    count = len(function.schema.returns)
    if len(given) == count:
        return tuple(bool(word) for word in given)
    every = any(re.search(r"\bgrads\b", formula) for formula in formulas.values())
    return tuple(every or index == 0 for index in range(count))


def node_stem(base: str) -> str:
    """Node name without its index: ``_to_copy`` gives ``ToCopyBackward``, ``fill_`` gives ``FillBackward``.

    The index counts the entries of one stem in the order of the file, so the file keeps PyTorch's order.
    """
    words = base.strip("_").split("_")
    return ("".join(word.title() for word in words) + "Backward").replace("ForwardBackward", "Backward")


def _formulas(
    entry: dict[str, Any], schema: FunctionSchema, where: Location
) -> tuple[dict[tuple[str, ...], str], frozenset[str]]:
    """Formulas in alphabetical order of their keys, which is the order of evaluation; and what has none."""
    known = {argument.name for argument in schema.arguments}
    formulas: dict[tuple[str, ...], str] = {}
    constant: set[str] = set()
    for key in sorted(entry):
        names = tuple(word.strip() for word in key.split(","))
        if not set(names) <= known:
            unknown = ", ".join(name for name in names if name not in known)
            raise SpecError(
                f"{where}: {schema.full_name} has no argument named {unknown}; it has {', '.join(sorted(known))}"
            )
        if entry[key] == "non_differentiable":
            constant.update(names)
        else:
            formulas[names] = str(entry[key])
    return formulas, frozenset(constant)


def _shared_with_inplace(
    functions: Mapping[str, NativeFunction], own: Mapping[str, Derivative]
) -> Iterator[tuple[str, Derivative]]:
    """``add_.Tensor`` uses the entry of ``add.Tensor``."""
    for function in functions.values():
        if function.inplace and function.name not in own:
            functional = function.base.removesuffix("_") + function.name.removeprefix(function.base)
            name = _INPLACE_OVERLOAD.get(function.name, functional)
            if name in own:
                yield function.name, own[name]


_INPLACE_OVERLOAD = {"pow_.Scalar": "pow.Tensor_Scalar", "pow_.Tensor": "pow.Tensor_Tensor"}
"""In-place overloads that are not spelled like their functional partner."""
