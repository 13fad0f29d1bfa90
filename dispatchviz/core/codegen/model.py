"""The two yaml files as values. Every key is read into a field, and a key that is left over is an error.

The grammar is that of PyTorch's ``native_functions.yaml`` and ``derivatives.yaml`` (``torchgen/model.py``,
``tools/autograd/load_derivatives.py``), except that formulas are Python expressions. Code outside this module sees no
dicts and no unparsed strings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dispatchviz.core.codegen.entries import Entry, Location, SpecError, entries, meant
from dispatchviz.core.schema.function_schema import Argument, FunctionSchema
from dispatchviz.core.schema.python_signature import TYPES, class_name

DISPATCH_KEYS = (
    "CPU",
    "CUDA",
    "Meta",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
"""Keys that an entry may name under ``dispatch``."""


@dataclass(frozen=True)
class NativeFunction:
    """One entry of native_functions.yaml."""

    schema: FunctionSchema
    where: Location
    function: bool
    """True if the function is in ``torch``."""
    method: bool
    """True if the function is a method of Tensor."""
    structured: bool
    structured_delegate: str
    """Name of the structured out operator, or empty."""
    dispatch: Mapping[str, str]
    """Dispatch key to kernel name."""
    python_module: str = ""
    """The module where users find it if it is not in ``torch``: ``nn``, ``linalg`` or ``special`` of ``torch._C``."""
    precomputed: str = ""
    """The argument of a structured kernel that the impl gets replaced by the meta function's return value; or empty."""
    iterator: bool = False
    """True for a structured kernel that is a TensorIterator itself (``structured_inherits``)."""
    device_check: bool = True
    """True if its CUDA kernel accepts only tensors of one device; False for ``device_check: NoCheck``."""

    def refused(self, what: str) -> SpecError:
        """Return the error to raise for a mistake in the entry."""
        return SpecError(f"{self.where}: {self.name}: {what}")

    @property
    def name(self) -> str:
        """The name without the namespace, ``add.Tensor``."""
        return self.schema.full_name.removeprefix("aten::")

    @property
    def base(self) -> str:
        """The name without the overload: ``add``, ``add_``."""
        return self.schema.name.removeprefix("aten::")

    @property
    def identifier(self) -> str:
        """The name of the operator's class in ``generated/operators``: ``add_Tensor``, ``add__Tensor``."""
        return class_name(self.schema.full_name)

    @property
    def cpp_name(self) -> str:
        """Name of the C++ function: ``add``, ``add_``, and ``add_out`` for out= variants."""
        return f"{self.base}_out" if self.out_arguments else self.base

    @property
    def kernel_identifier(self) -> str:
        """The name in PyTorch's generated kernels: ``add_Tensor``, ``add_out_out``."""
        overload = self.name.partition(".")[2]
        return f"{self.cpp_name}_{overload}" if overload else self.cpp_name

    @property
    def result_names(self) -> tuple[str, ...]:
        """The names of the results in formulas: those of the schema, else ``result`` or ``result0``, ``result1``."""
        returns = self.schema.returns
        if len(returns) == 1:
            return ("result",)
        return tuple(r.name or f"result{index}" for index, r in enumerate(returns))

    @property
    def inplace(self) -> bool:
        """True if the operator writes to its first argument (``add_``)."""
        return self.base in AUGMENTED or (self.base.endswith("_") and not self.base.endswith("__"))

    @property
    def out_arguments(self) -> tuple[str, ...]:
        """The arguments that an out= operator writes to; empty for others."""
        return tuple(a.name for a in self.schema.arguments if a.is_out)

    @property
    def checked_tensors(self) -> tuple[Argument, ...]:
        """The arguments that must be on one device, in the order of the check: those of out=, then the positional ones
        (``gen_device_check``). Empty if there is no check, or nothing to compare.
        """
        arguments = self.schema.arguments
        written = [a for a in arguments if a.is_out]
        tensors = (*written, *(a for a in arguments if a.is_tensor and not a.kwarg_only))
        alone = len(tensors) == 1 and "[" not in tensors[0].type
        return () if alone or not self.device_check else tensors

    @property
    def view(self) -> bool:
        """True if the result aliases an argument that the operator does not write. False for ``lift_fresh``, whose
        schema only claims it.
        """
        return self.base != "lift_fresh" and any(r.alias and not r.alias.endswith("!") for r in self.schema.returns)

    @property
    def is_factory(self) -> bool:
        """True if the operator accepts the four tensor options."""
        names = {a.name for a in self.schema.arguments}
        return {"dtype", "layout", "device", "pin_memory"} <= names

    @property
    def composite_implicit(self) -> bool:
        """True if the operator has only a composite kernel: its derivatives come from the operators that it calls."""
        return "CompositeImplicitAutograd" in self.dispatch


@dataclass(frozen=True)
class Derivative:
    """One entry of derivatives.yaml."""

    function: NativeFunction
    where: Location
    node: str
    """The name of the Node, ``AddBackward0``."""
    formulas: Mapping[tuple[str, ...], str]
    """The expressions by argument names, in alphabetical order, the order of evaluation."""
    non_differentiable: frozenset[str]
    condition: str
    """A Python expression over the arguments. The result is differentiable only if it is true; empty: it always is."""
    differentiable: tuple[bool, ...]
    """For each result, whether it may have a history. Formulas that name a single ``grad`` leave it to the first
    result.
    """
    forward: Mapping[str, str] = field(default_factory=dict)
    """The expression for the tangent of each result, ``auto_linear`` or ``auto_element_wise``."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments with a formula, in schema order. Each has one edge."""
        with_formula = {name for names in self.formulas for name in names}
        return tuple(a.name for a in self.function.schema.arguments if a.name in with_formula)


@dataclass(frozen=True)
class Specification:
    """Both files together."""

    functions: Mapping[str, NativeFunction]
    derivatives: Mapping[str, Derivative]
    """By operator name; in-place variants without an entry of their own share the functional one."""
    nodes: Mapping[str, Derivative] = field(default_factory=dict)
    """By node name."""

    @cached_property
    def by_base(self) -> Mapping[str, list[NativeFunction]]:
        """The functions by their name without the overload, in the order of the file."""
        found: dict[str, list[NativeFunction]] = {}
        for function in self.functions.values():
            found.setdefault(function.base, []).append(function)
        return found

    @cached_property
    def functional(self) -> Mapping[str, NativeFunction]:
        """The functional member of each family of structured kernels, by the name of the structured out operator. The
        functional member's name is the family's.
        """
        functions = [*self.functions.values()][::-1]
        return {function.structured_delegate: function for function in functions if not function.inplace}


def load(native_functions: Path, derivatives: Path) -> Specification:
    """Read both files. Raise SpecError for the first mistake."""
    functions: dict[str, NativeFunction] = {}
    for entry in entries(native_functions):
        function = _parse_function(entry)
        if function.name in functions:
            raise entry.refused(f"it is already defined at {functions[function.name].where}")
        functions[function.name] = function
    for function in functions.values():
        _check_structured(functions, function)
    own = dict(_parse_derivatives(derivatives, functions))
    own |= dict(_of_copies(functions, own))
    nodes = {derivative.node: derivative for derivative in own.values()}
    return Specification(functions, {**dict(_shared_with_inplace(functions, own)), **own}, nodes)


def _check_structured(functions: Mapping[str, NativeFunction], function: NativeFunction) -> None:
    """Raise SpecError if a structured kernel's family is incomplete or inconsistent."""
    delegate = function.structured_delegate
    if delegate and delegate not in functions:
        raise function.refused(f"structured_delegate names {delegate!r}, not an entry{meant(delegate, functions)}")
    if delegate and not functions[delegate].structured:
        raise function.refused(f"structured_delegate names {delegate}, which has no structured: True")
    if function.structured and not function.out_arguments:
        raise function.refused("structured: True is for out= operators; other operators need structured_delegate")
    if function.structured and not any(_is_functional_of(other, function) for other in functions.values()):
        raise function.refused(f"no functional operator has structured_delegate: {function.name}")


def _is_functional_of(function: NativeFunction, out: NativeFunction) -> bool:
    return function.structured_delegate == out.name and not function.inplace


def structured_group(functions: Mapping[str, NativeFunction], function: NativeFunction) -> NativeFunction | None:
    """The structured out operator of a function's family, which may be the function itself."""
    return function if function.structured else functions.get(function.structured_delegate)


AUGMENTED = tuple(f"__i{name}__" for name in ("and", "or", "xor", "lshift", "rshift"))
"""Python's augmented operators, which write to their first argument."""

_IGNORED = ("device_guard", "tags")
"""Fields of PyTorch's grammar that mean nothing to this generator."""


def _parse_function(entry: Entry) -> NativeFunction:
    schema = entry.schema("func")
    _check_types(entry, schema)
    variants = {word.strip() for word in entry.text("variants", "function").split(",")}
    if not variants <= {"function", "method"}:
        raise entry.refused(f"variants may be function and method, not {', '.join(sorted(variants))}")
    structured, delegate = entry.flag("structured"), entry.text("structured_delegate")
    if structured and delegate:
        raise entry.refused("an operator has structured: True or structured_delegate, not both")
    dispatch = dict(_dispatch(entry)) | dict(_ufunc(entry))
    python_module = entry.text("python_module")
    precomputed = "".join(map(str, entry.sequence("precomputed", []))).partition(" -> ")[0]
    iterator = bool(entry.text("structured_inherits"))
    device_check = entry.text("device_check", "ExactSame")
    if device_check not in ("ExactSame", "NoCheck"):
        raise entry.refused(f"device_check may be NoCheck and ExactSame, not {device_check}")
    entry.ignore(_IGNORED)
    entry.finish()
    if structured and not dispatch:
        raise entry.refused("a structured operator needs a dispatch section (or ufunc_inner_loop)")
    if not dispatch and not delegate:
        dispatch = {"CompositeImplicitAutograd": schema.name.removeprefix("aten::")}
    flags = ("function" in variants, "method" in variants, structured)
    about = (python_module, precomputed, iterator)
    return NativeFunction(
        schema, entry.where, *flags, delegate, dispatch, *about, device_check=device_check == "ExactSame"
    )


def _check_types(entry: Entry, schema: FunctionSchema) -> None:
    """Raise SpecError for a type that has no Python type here."""
    for each in (*schema.arguments, *schema.returns):
        element = each.type.partition("[")[0].rstrip("?")
        if element not in TYPES:
            raise entry.refused(f"the type {each.type} of {each.name or 'the result'} is not one of {', '.join(TYPES)}")


def _ufunc(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the dispatch entries of a ``ufunc_inner_loop``, a kernel for CPU and CUDA that is made from a function of
    numbers.
    """
    loops = entry.mapping("ufunc_inner_loop")
    if loops:
        if "Generic" not in loops:
            raise entry.refused(f"ufunc_inner_loop needs a line Generic: NAME (TYPES); it has {', '.join(loops)}")
        inner = loops["Generic"].partition(" ")[0]
        yield from ((key, f"ufunc_{inner}_{key}") for key in ("CPU", "CUDA"))


def _dispatch(entry: Entry) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for keys, kernel in entry.mapping("dispatch").items():
        for key in (word.strip() for word in keys.split(",")):
            if key not in DISPATCH_KEYS:
                raise entry.refused(f"dispatch key {key!r} is not one of {', '.join(DISPATCH_KEYS)}")
            if key in seen:
                raise entry.refused(f"dispatch names two kernels for {key}")
            seen.add(key)
            yield key, kernel


def _parse_derivatives(path: Path, functions: Mapping[str, NativeFunction]) -> Iterator[tuple[str, Derivative]]:
    count: Counter[str] = Counter()
    places: dict[str, Location] = {}
    for entry in entries(path):
        schema = entry.schema("name")
        name = entry.name
        function = functions.get(name)
        if function is None:
            raise entry.refused(f"it is not an operator of native_functions.yaml{meant(name, functions)}")
        if str(schema) != str(function.schema):
            raise entry.refused(f"it is declared as {function.schema} at {function.where}, here as {schema}")
        if name in places:
            raise entry.refused(f"it has a derivative already, at {places[name]}")
        places[name] = entry.where
        stem = node_stem(function.base)
        differentiable = _given_outputs(entry, function)
        forward = {
            key: entry.formula(key) for key in sorted(entry.left) if set(_words(key)) <= set(function.result_names)
        }
        formulas = _formulas(entry, schema, function)
        condition = differentiable[0] if differentiable and isinstance(differentiable[0], str) else ""
        outputs = _differentiable(formulas[0], function, differentiable)
        yield name, Derivative(function, entry.where, f"{stem}{count[stem]}", *formulas, condition, outputs, forward)
        count[stem] += 1


def _given_outputs(entry: Entry, function: NativeFunction) -> list[bool | str]:
    """Read ``output_differentiability``: for each result, whether or under which condition it has a history."""
    given: list[bool | str] = entry.sequence("output_differentiability", [True])
    count = len(function.schema.returns)
    if "output_differentiability" in entry.asked and len(given) != count:
        raise entry.refused(f"output_differentiability has {len(given)} values for {count} results")
    if not all(isinstance(word, (bool, str)) for word in given):
        raise entry.refused(f"output_differentiability is True, False or a condition for each result, not {given}")
    return given


def _differentiable(
    formulas: Mapping[tuple[str, ...], str], function: NativeFunction, given: list[bool | str]
) -> tuple[bool, ...]:
    """The results that are differentiable (``gen_differentiable_outputs``): as the entry gives them, else the first
    result, or all if formulas use ``grads``.
    """
    count = len(function.schema.returns)
    if len(given) == count:
        return tuple(bool(word) for word in given)
    every = any(re.search(r"\bgrads\b", formula) for formula in formulas.values())
    return tuple(every or index == 0 for index in range(count))


def node_stem(base: str) -> str:
    """The name of a Node without its index: ``_to_copy`` gives ``ToCopyBackward``, ``fill_`` gives ``FillBackward``.

    The index counts the entries with the same stem in the order of the file, so the file keeps PyTorch's order.
    """
    words = base.strip("_").split("_")
    return ("".join(word.title() for word in words) + "Backward").replace("ForwardBackward", "Backward")


def _words(key: str) -> tuple[str, ...]:
    """The names of the arguments that a formula is for: ``self, other``."""
    return tuple(word.strip() for word in key.split(","))


def _formulas(
    entry: Entry, schema: FunctionSchema, function: NativeFunction
) -> tuple[dict[tuple[str, ...], str], frozenset[str]]:
    """The formulas in alphabetical order of their keys, which is the order of evaluation, and the arguments without
    one.
    """
    known = {argument.name for argument in schema.arguments}
    formulas: dict[tuple[str, ...], str] = {}
    constant: set[str] = set()
    given: set[str] = set()
    for key in sorted(entry.left):
        names = _words(key)
        if unknown := [name for name in names if name not in known]:
            may = f"it has {', '.join(sorted(known))}, and {', '.join(function.result_names)} for the forward formula"
            raise entry.refused(f"it has no argument named {', '.join(unknown)}; {may}")
        if twice := given.intersection(names):
            raise entry.refused(f"two formulas for {', '.join(sorted(twice))}")
        given.update(names)
        formula = entry.formula(key)
        if formula == "non_differentiable":
            constant.update(names)
        else:
            formulas[names] = formula
    return formulas, frozenset(constant)


def _of_copies(
    functions: Mapping[str, NativeFunction], own: Mapping[str, Derivative]
) -> Iterator[tuple[str, Derivative]]:
    """Yield the derivatives of ``view_copy``, which has the formulas of ``view`` in a Node of its own,
    ``ViewBackward0_copy``.
    """
    for function in functions.values():
        view = own.get(function.base.removesuffix("_copy") + function.name.removeprefix(function.base))
        if function.base.endswith("_copy") and view is not None and view.function.view and function.name not in own:
            yield function.name, replace(view, function=function, node=f"{view.node}_copy")


def _shared_with_inplace(
    functions: Mapping[str, NativeFunction], own: Mapping[str, Derivative]
) -> Iterator[tuple[str, Derivative]]:
    """Yield the derivatives that in-place operators share: ``add_.Tensor`` uses the entry of ``add.Tensor``."""
    for function in functions.values():
        if function.inplace and function.name not in own:
            functional = function.base.removesuffix("_") + function.name.removeprefix(function.base)
            name = _INPLACE_OVERLOAD.get(function.name, functional)
            if name in own:
                yield function.name, own[name]


_INPLACE_OVERLOAD = {"pow_.Scalar": "pow.Tensor_Scalar", "pow_.Tensor": "pow.Tensor_Tensor"}
"""In-place overloads whose names differ from those of their functional partners."""
