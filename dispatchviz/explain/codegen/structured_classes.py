"""The classes of a structured kernel: their inheritance, their member functions, and their files.

torchgen is not run: ``torchgen/dest/native_functions.py`` and ``torchgen/dest/register_dispatch_key.py`` follow few
rules, which are tables here. All of it is compared with the output of torchgen for every structured operator, and the
first two classes with PyTorch's headers (``tests/conformance/test_structured_classes_live.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.pytorch_registrations import pytorch_registrations
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.definitions import FUNCTIONS, Piece, delegating, dispatched_to, entry, entry_field
from dispatchviz.explain.locations.native_files import native_calls, structured_file

FORMS = {"functional": "functional", "in-place": "inplace", "out": "out"}
"""The three operators of a family, and the endings that torchgen gives to the names of their classes."""

DEFAULT = "CompositeExplicitAutogradNonFunctional"

KEYS = ("CPU", "CUDA", "Meta", DEFAULT)
"""The keys whose wrappers create an object of a structured class."""

GUARDS = {"CUDA": "c10::cuda::OptionalCUDAGuard guard_", DEFAULT: "c10::OptionalDeviceGuard guard_"}
"""The guards that set the current device while meta and impl run. The CPU needs none."""

OUTPUTS = {
    "functional": "outputs_[i] = create_out(sizes, strides, options)",
    "in-place": "check_inplace(outputs_[i], sizes, options)",
    "out": "resize_out(outputs_[i], sizes, strides, options)",
}
"""The effect of ``set_output_strided`` and ``set_output_raw_strided`` on output number i, which is the only difference
between the three variants.
"""

PROXY = "proxy_outputs_[i] = maybe_create_proxy(outputs_[i], sizes, strides, options)"
"""The additional effect of ``set_output_strided`` on a given output: the impl needs exactly these strides."""

PRECOMPUTED = (
    *("cat.out", "index.Tensor_out", "index_copy.out", "index_add.out", "index_reduce.out", "max.dim_max"),
    *("min.dim_min", "avg_pool2d.out", "fractional_max_pool3d.output"),
)
"""The families whose meta function also returns values that the impl function needs (``precomputed:`` in PyTorch's
entry).
"""

HELPERS = {
    "create_out": "creates a tensor of that size with at::detail::empty_cpu or similar; with strides, "
    "empty_strided_cpu",
    "check_inplace": "raises an error unless self has the computed dtype, device and size",
    "resize_out": "raises an error unless out has the dtype and device; for another size calls "
    "at::native::resize_output",
    "maybe_create_proxy": "a new tensor if the output does not have the requested strides, otherwise nothing",
}
"""The functions that torchgen writes once into each of the files with structured classes. The default backends have no
out= variant and so no resize_out.
"""


class Member(NamedTuple):
    """A member function or a field of a class."""

    name: str
    does: str
    overrides: bool = False


class StructuredClass(NamedTuple):
    """A class derived from ``base``."""

    name: str
    base: str
    file: str
    members: tuple[Member, ...]
    key: str = ""
    """The key whose wrappers create an object of it, or whose impl function it has; empty for the base classes
    above.
    """
    form: str = ""
    """One of ``FORMS``; empty for a class without objects."""


class Wrapper(NamedTuple):
    """The kernel that is registered for one of the three operators and a key."""

    name: str
    operator: str
    key: str
    form: str
    place: str
    """The place of registration, ``FILE:LINE``."""
    made: str
    """The first statement: the object of the class that follows."""
    class_name: str
    steps: tuple[str, ...]
    """The statements after that."""


class Family(NamedTuple):
    """The operators that share a meta function, with their classes and wrappers."""

    meta: str
    """The meta function: ``structured_add_Tensor::meta``"""
    macro: str
    """The macro: ``TORCH_META_FUNC2(add, Tensor)``"""
    impls: dict[str, str]
    """The impl function for each key: ``structured_ufunc_add_CPU::impl``."""
    operators: dict[str, str]
    """The operator for each variant."""
    classes: tuple[StructuredClass, ...]
    """The classes, each after its base class."""
    wrappers: tuple[Wrapper, ...]

    def below(self, name: str) -> list[StructuredClass]:
        """Return the direct subclasses of a class."""
        return [each for each in self.classes if each.base == name]

    def wrapper(self, key: str, form: str) -> Wrapper | None:
        """Return the kernel that is registered for a key and a variant, or None."""
        return next((each for each in self.wrappers if (each.key, each.form) == (key, form)), None)

    def class_of(self, kernel: str) -> StructuredClass | None:
        """Return the class of the object that a wrapper creates."""
        made = next(((each.key, each.form) for each in self.wrappers if each.name == kernel), None)
        return next((each for each in self.classes if (each.key, each.form) == made), None)


META_BASE = StructuredClass(
    "at::impl::MetaBase",
    "",
    "aten/src/ATen/TensorMeta.h",
    (
        Member("maybe_get_output(i)", "pure virtual: output number i; undefined if it does not exist yet"),
        Member("maybe_get_output()", "output number 0"),
        Member("set_output_strided", "virtual; an internal assert here, because a subclass must override it"),
        Member("set_output_raw_strided", "virtual; the same"),
        Member("set_output_contiguous", "calls set_output_strided with the strides of a contiguous tensor"),
    ),
)

TENSOR_ITERATOR_BASE = StructuredClass(
    "at::TensorIteratorBase",
    META_BASE.name,
    "aten/src/ATen/TensorIterator.h",
    (
        Member("set_output_raw_strided", "makes the result of maybe_get_output an operand of the iterator", True),
        Member(
            "build, build_binary_op, build_borrowing_binary_op, ...",
            "common dtype, shape and strides; then set_output_raw_strided for each output",
        ),
    ),
)


@cache
def family_of(name: str) -> Family | None:
    """Return the family of an operator (without ``aten::``), or None if its kernels are not structured."""
    own = entry(FUNCTIONS, name)
    out = name if own and entry_field(own, "structured") else entry_field(own, "structured_delegate") if own else ""
    described = entry(FUNCTIONS, out) if out else None
    if described is None:
        return None
    operators = {form: each for each in (*delegating()[out], out) for form in [_form(each, out)]}
    return _Writer(operators, described).family()


def _form(name: str, out: str) -> str:
    if name == out:
        return "out"
    own = entry(FUNCTIONS, name)
    return "in-place" if own and re.search(r"\(Tensor\(a!\) self", own.text) else "functional"


def impl_classes(described: Piece) -> dict[str, str]:
    """Return the names of the CPU and CUDA kernels in the entry of the out= variant, or those that torchgen creates."""
    if "\n  ufunc_inner_loop:" in described.text:
        base = re.match(r"- func: (\w+)", described.text)
        return {key: f"ufunc_{base[1]}_{key}" for key in ("CPU", "CUDA")} if base else {}
    return {key: kernel for key, kernel in dispatched_to(described).items() if key in ("CPU", "CUDA")}


class _Writer:
    """The writer of the classes of a family."""

    def __init__(self, operators: dict[str, str], described: Piece) -> None:
        self.operators = operators
        base, _, overload = operators["functional"].partition(".")
        self.meta = f"structured_{base}_{overload}" if overload else f"structured_{base}"
        precomputed = "PRECOMPUTE_" if operators["out"] in PRECOMPUTED else ""
        written = f"2({base}, {overload})" if overload else f"({base})"
        self.macro = f"TORCH_{precomputed}META_FUNC{written}"
        self.precomputed = bool(precomputed)
        self.iterator = bool(entry_field(described, "structured_inherits"))
        self.returns = described.text.partition("\n")[0].rpartition("->")[2].count("Tensor")
        self.kernels = impl_classes(described)
        self.header = f"{generated_files.ATEN}/ops/{generated_files.root_name(base)}"

    def family(self) -> Family:
        wrappers = tuple(self._wrappers())
        return Family(
            meta=f"{self.meta}::meta",
            macro=self.macro,
            impls={key: f"structured_{kernel}::impl" for key, kernel in self.kernels.items()},
            operators=self.operators,
            classes=(*self._shared(), *self._made(wrappers)),
            wrappers=wrappers,
        )

    def _shared(self) -> Iterator[StructuredClass]:
        """Yield the classes without objects."""
        yield META_BASE
        if self.iterator:
            yield TENSOR_ITERATOR_BASE
        above = TENSOR_ITERATOR_BASE if self.iterator else META_BASE
        defined = structured_file(f"{self.meta}::meta")
        meta = Member("meta", f"{self.macro} {{ ... }}{_in(defined)}{_calls(f'{self.meta}::meta')}")
        yield StructuredClass(f"at::meta::{self.meta}", above.name, f"{self.header}_meta.h", (meta,))
        for key, kernel in self.kernels.items():
            name = f"at::native::structured_{kernel}"
            if key == "CPU" or kernel != self.kernels["CPU"]:
                yield StructuredClass(name, f"at::meta::{self.meta}", f"{self.header}_native.h", (_impl(kernel),), key)

    def _made(self, wrappers: tuple[Wrapper, ...]) -> Iterator[StructuredClass]:
        """Yield the classes whose objects the wrappers create."""
        for each in wrappers:
            yield StructuredClass(
                each.class_name,
                self._above(each.key),
                each.place.rpartition(":")[0],
                tuple(self._members(each.key, each.form)),
                each.key,
                each.form,
            )

    def _above(self, key: str) -> str:
        return f"at::native::structured_{self.kernels[key]}" if key in self.kernels else f"at::meta::{self.meta}"

    def _members(self, key: str, form: str) -> Iterator[Member]:
        guard = "guard_.reset_device(options.device()); " if key in GUARDS else ""
        base = "; then TensorIteratorBase::set_output_raw_strided" if self.iterator else ""
        proxy = "" if form == "functional" else f"; {PROXY}"
        given = "outputs_[i]" if form == "functional" else "proxy_outputs_[i] if it exists, otherwise outputs_[i]"
        plain, one = (
            f"std::array<Tensor, {self.returns}>",
            f"std::array<std::reference_wrapper<Tensor>, {self.returns}>",
        )
        if form == "in-place":
            yield Member("constructor", "takes self: outputs_ refers to it")
        if form == "out":
            yield Member("constructor", f"takes {_given(self.returns)}: outputs_ refers to {_them(self.returns)}")
        yield Member("set_output_strided", f"{guard}{OUTPUTS[form]}{proxy}{base}", True)
        yield Member("set_output_raw_strided", f"{guard}{OUTPUTS[form]}{base}", True)
        yield Member("maybe_get_output(i)", given, True)
        yield Member("outputs_", plain if form == "functional" else one)
        if form != "functional":
            yield Member("proxy_outputs_", f"std::array<std::optional<Tensor>, {self.returns}>")
        if key in GUARDS:
            yield Member("guard_", GUARDS[key].partition(" ")[0])

    def _wrappers(self) -> Iterator[Wrapper]:
        for key in KEYS:
            for form, name in self.operators.items():
                registered = _registered(name, key)
                if registered is None:
                    continue
                kernel, place = registered
                class_name = self._class(key, form)
                yield Wrapper(
                    kernel, name, key, form, place, _made(form, self.outs), class_name, tuple(self._steps(key, form))
                )

    @property
    def outs(self) -> list[str]:
        """The arguments of the out= variant that are written."""
        own = entry(FUNCTIONS, self.operators["out"])
        return re.findall(r"Tensor\(\w!\) (\w+)", own.text.partition(" -> ")[0]) if own else []

    def _class(self, key: str, form: str) -> str:
        end = FORMS[form]
        if key in self.kernels:
            return f"structured_{self.kernels[key]}_{end}"
        return f"{self.meta}_{'meta' if key == 'Meta' else 'default_backend'}_{end}"

    def _steps(self, key: str, form: str) -> Iterator[str]:
        """Yield the wrapper's statements, without arguments."""
        numbers = range(self.returns)
        given = ", ".join(f"op.maybe_get_output({i})" if form == "out" else f"op.outputs_[{i}]" for i in numbers)
        yield "auto precompute = op.meta(...)" if self.precomputed else "op.meta(...)"
        if key == DEFAULT:
            yield f"at::{self.operators['out'].partition('.')[0]}_outf(..., {given})"
        elif key != "Meta":
            yield f"op.impl(..., {given})"
        if form != "functional":
            for i in numbers:
                yield f"if (op.proxy_outputs_[{i}].has_value()) op.outputs_[{i}].get().copy_(*op.proxy_outputs_[{i}])"
        yield f"return {self._returned(form)}"

    def _returned(self, form: str) -> str:
        if form == "in-place":
            return "self"
        each = self.outs if form == "out" else [f"std::move(op.outputs_[{i}])" for i in range(self.returns)]
        together = "std::forward_as_tuple" if form == "out" else "std::make_tuple"
        return each[0] if len(each) == 1 else f"{together}({', '.join(each)})"


def _impl(kernel: str) -> Member:
    function = f"structured_{kernel}::impl"
    return Member("impl", f"TORCH_IMPL_FUNC({kernel}) {{ ... }}{_in(structured_file(function))}{_calls(function)}")


def _in(file: str) -> str:
    return f" in {file}" if file else ""


def _calls(function: str) -> str:
    called = native_calls(function)
    return f", calls {', '.join(called)}" if called else ""


def _given(count: int) -> str:
    return "out" if count == 1 else f"{count} outputs"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _made(form: str, outs: list[str]) -> str:
    return {"functional": "op", "in-place": "op(self)", "out": f"op({', '.join(outs)})"}[form]


def _registered(name: str, key: str) -> tuple[str, str] | None:
    """Return the name of the generated kernel of an operator for a key, and its place of registration."""
    for found, kernel in pytorch_registrations(f"aten::{name}", "cuda"):
        if found is DispatchKey[key] and f"/Register{key}_" in kernel.debug:
            return kernel.name, generated_files.placed(kernel.debug)
    return None
