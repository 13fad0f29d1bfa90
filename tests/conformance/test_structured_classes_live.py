"""Structured kernels: their classes, the names of meta and impl functions, and the casts of an iterator."""

from __future__ import annotations

import re
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.generated import register_cpu, register_cpu_cuda
from dispatchviz.explain.codegen.definitions import FUNCTIONS, entry, entry_field, names
from dispatchviz.explain.codegen.structured_classes import (
    DEFAULT,
    HELPERS,
    KEYS,
    META_BASE,
    TENSOR_ITERATOR_BASE,
    Family,
    StructuredClass,
    Wrapper,
    family_of,
)

pytestmark = pytest.mark.torch

torch: Any = pytest.importorskip("torch")


INCLUDE = Path(torch.__file__).parent / "include/ATen"


def families() -> dict[str, Family]:
    """Return the families by the out operator."""
    found = ((name, family_of(name), entry(FUNCTIONS, name)) for name in names(FUNCTIONS))
    return {name: family for name, family, own in found if family and own and entry_field(own, "structured")}


@cache
def groups() -> tuple[dict[str, Any], Any]:
    """Return torchgen's groups by the out operator, and its data about each key."""
    from torchgen.model import NativeFunctionsGroup

    from truth.observers.torchgen import generator

    every = generator().groups
    structured = (each for each in every if isinstance(each, NativeFunctionsGroup) and each.structured)
    return {str(each.out.func.name): each for each in structured}, generator().yaml.backend_indices


def written(group: Any, key: str) -> str:
    """Return the classes and wrappers of a group under a key, as in ``RegisterCPU.cpp``."""
    from torchgen.model import DispatchKey

    from truth.observers.torchgen import generator

    return generator().written(DispatchKey.parse(key), [group])


def classes(text: str) -> dict[str, tuple[str, str]]:
    """Return name -> base and body."""
    found = re.finditer(r"^struct (\w+) final : public ([\w:]+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL)
    return {each[1]: (each[2], each[3]) for each in found}


def wrappers(text: str) -> dict[str, list[str]]:
    """Return name -> statements."""
    found = re.finditer(r"^[\w:<>, &]+ (wrapper_\w+)\(.*?\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {each[1]: [line.strip().rstrip(";") for line in each[2].splitlines() if line.strip()] for each in found}


OF_THE_CHECK = ("//", "(void)", "std::optional<Device>", "c10::")
"""The beginnings of statements that compare devices."""


def squeezed(statement: str) -> str:
    """Return a statement without the arguments that meta and impl share."""
    return re.sub(r"^((?:auto precompute = )?op\.meta)\(.*\)$", r"\1(...)", statement)


def check_wrapper(ours: Wrapper, statements: list[str]) -> None:
    """Compare the statements in order, but for arguments only the outputs."""
    without_check = (each for each in statements if not each.startswith(OF_THE_CHECK))
    made, *steps = map(squeezed, dropwhile(lambda each: not re.match(r"\w+ op\b", each), without_check))
    assert made == f"{ours.class_name} {ours.made}", ours.name
    assert len(steps) == len(ours.steps), ours.name
    for step, described in zip(steps, ours.steps, strict=True):
        head, dots, tail = described.partition("...")
        assert step.startswith(head), (ours.name, step, described)
        assert step.endswith(tail.removeprefix(", ")), (ours.name, step, described)
        if not dots:
            assert step == described, ours.name


CALLED = re.compile("create_out|check_inplace|resize_out|maybe_create_proxy|guard_|proxy_outputs_")
"""Functions that an override may call or use."""


def check_class(ours: StructuredClass, base: str, body: str) -> None:
    """Compare the base, the overrides, the fields, and the body of each override."""
    assert ours.base == base
    overridden = re.findall(r"(\w+)\([^)]*\) override \{(.*?)^    \}", body, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in overridden] == [m.name.partition("(")[0] for m in ours.members if m.overrides]
    described = {member.name.partition("(")[0]: member.does for member in ours.members}
    for name, text in overridden:
        assert set(CALLED.findall(text)) == set(CALLED.findall(described[name]))
        assert ("::set_output_raw_strided(" in text) == ("TensorIteratorBase::" in described[name])
    declared = re.findall(r"^    (\S.*?) (\w+_);$", body, re.MULTILINE)
    fields = {name: kind.replace("::std::", "std::") for kind, name in declared}
    assert fields == {m.name: m.does for m in ours.members if m.name.endswith("_")}
    assert (f"{ours.name}(Tensor& " in body) == ("constructor" in described)


@pytest.mark.parametrize("key", KEYS)
def test_every_class_and_wrapper_is_torchgens(key: str) -> None:
    ours = families()
    assert len(ours) > 250
    for name, family in ours.items():
        text = written(groups()[0][name], key)
        theirs, statements = classes(text), wrappers(text)
        mine = {each.class_name: each for each in family.wrappers if each.key == key}
        assert set(theirs) == set(mine), name
        assert set(statements) == {each.name for each in mine.values()}, name
        for class_name, (base, body) in theirs.items():
            found = family.class_of(mine[class_name].name)
            assert found is not None
            assert found.name == class_name
            check_class(found, base, body)
            check_wrapper(mine[class_name], statements[mine[class_name].name])


def test_the_classes_between_are_torchgens() -> None:
    from torchgen.dest.native_functions import compute_native_function_declaration
    from torchgen.gen import compute_meta_function_declaration
    from torchgen.model import DispatchKey

    for name, family in families().items():
        group = groups()[0][name]
        declared = str(compute_meta_function_declaration(group))
        for key in ("CPU", "CUDA"):
            declared += "".join(compute_native_function_declaration(group, groups()[1][DispatchKey.parse(key)]))
        theirs = set(re.findall(r"struct TORCH_API (\w+) : public ([\w:]+) \{", declared))
        shared = [c for c in family.classes if not c.form and c not in (META_BASE, TENSOR_ITERATOR_BASE)]
        assert theirs == {(c.name.rpartition("::")[2], _as_written(c.base)) for c in shared}, name
        assert ("meta_return_ty meta(" in declared) == family.macro.startswith("TORCH_PRECOMPUTE_META_FUNC")
        header = (INCLUDE / "ops" / shared[0].file.rpartition("/")[2]).read_text()
        assert f"struct TORCH_API {shared[0].name.rpartition('::')[2]} " in header


def _as_written(base: str) -> str:
    """Return a name without the namespace that its place makes unnecessary."""
    return base.removeprefix("at::") if base == TENSOR_ITERATOR_BASE.name else base


def test_the_first_two_classes_are_the_headers() -> None:
    base = (INCLUDE / "TensorMeta.h").read_text().partition("struct TORCH_API MetaBase {")[2]
    assert re.search(r"virtual const Tensor& maybe_get_output\(int64_t output_idx\) = 0;", base)
    virtual = re.findall(r"virtual void (\w+)\(", base)
    assert virtual == [member.name for member in META_BASE.members if "virtual" in member.does][1:]
    assert len(re.findall("TORCH_INTERNAL_ASSERT\\(false", base)) == len(virtual)
    contiguous = base.partition("void set_output_contiguous(")[2].partition("\n  }")[0]
    assert "contiguous_strides(sizes)" in contiguous
    assert "set_output_strided(" in contiguous
    assert "return maybe_get_output(0);" in base
    iterator = (INCLUDE / "TensorIterator.h").read_text()
    iterator = iterator.partition("struct TORCH_API TensorIteratorBase : public impl::MetaBase {")[2]
    iterator = iterator.partition("struct TORCH_API TensorIterator final")[0]
    assert re.findall(r"(\w+)\([^)]*\) override", iterator) == [
        m.name for m in TENSOR_ITERATOR_BASE.members if m.overrides
    ]
    for builder in ("build", "build_binary_op", "build_borrowing_binary_op"):
        assert f"void {builder}(" in iterator
    assert "propagate_names" not in base


HELPER_CODE = {
    "create_out": ("if (strides.empty())", "empty_cpu(sizes", "empty_strided_cpu(sizes, strides"),
    "check_inplace": ("options.dtype() == self.dtype()", "options.device() == self.device()", "sizes == self.sizes()"),
    "resize_out": ("options.dtype() == out.dtype()", "options.device() == out.device()", "native::resize_output(out"),
    "maybe_create_proxy": ("if (out.strides() != strides)", "empty_strided_cpu(sizes, strides", "return std::nullopt"),
}
"""The code for the words of ``HELPERS``."""


def helpers(key: str) -> dict[str, str]:
    """Return the functions that torchgen writes beside the classes of a key: name -> text."""
    from torchgen.dest.register_dispatch_key import gen_registration_helpers
    from torchgen.model import DispatchKey

    texts = gen_registration_helpers(groups()[1][DispatchKey.parse(key)])
    named = {text: re.search(r"(\w+)\((?:const Tensor|IntArrayRef)", text) for text in texts}
    return {found[1]: text for text, found in named.items() if found}


def test_helper_functions_contain_the_described_code() -> None:
    assert set(helpers("CPU")) == set(HELPERS) == set(HELPER_CODE)
    for name, parts in HELPER_CODE.items():
        assert [part for part in parts if part not in helpers("CPU")[name]] == [], name
    assert set(helpers(DEFAULT)) == set(HELPERS) - {"resize_out"}
    assert "at::empty(" in helpers(DEFAULT)["create_out"]
    assert "at::empty_strided(" in helpers(DEFAULT)["create_out"]


def test_a_stub_has_a_function_for_each_device_and_each_instruction_set() -> None:
    """The header agrees with ``STUB``."""
    header = (INCLUDE / "native/DispatchStub.h").read_text()
    assert "A\n// DispatchStub contains a table of function pointers" in header
    assert "REGISTER_DISPATCH(stub, &kernel);" in header
    for device in ("cpu", "cuda", "mps"):
        assert re.search(rf"void\*>? {device}_dispatch_ptr", header)
    for capability in ("DEFAULT", "AVX2", "AVX512"):
        assert re.search(rf"^  {capability} = \d,", header, re.MULTILINE)
    assert "the fastest available kernel is chosen" in header
    loops = (INCLUDE / "native/cpu/Loops.h").read_text()
    assert all(f"void {loop}(TensorIteratorBase& iter" in loops for loop in ("cpu_kernel", "cpu_kernel_vec"))


SOURCE = "".join(Path(str(m.__file__)).read_text(encoding="utf-8") for m in (register_cpu, register_cpu_cuda))

_IMPL = r'enter_impl\(\s*\(?\s*(?:"\w+"\s+if ks & CUDA_BIT\s+else )?"(\w+)"'
"""The name for the CPU."""


@pytest.fixture(scope="module")
def compiled() -> frozenset[str]:
    from tests.claims.check_structured import compiled_functions

    return compiled_functions()


def test_every_meta_function_is_pytorchs(compiled: frozenset[str]) -> None:
    ours = {f"structured_{name}::meta" for name in re.findall(r'(?:Functional|InPlace|Out)\("(\w+)"', SOURCE)}
    assert len(ours) > 250
    assert not ours - compiled


def test_every_impl_function_is_pytorchs(compiled: frozenset[str]) -> None:
    ours = {f"structured_{name}::impl" for name in re.findall(_IMPL, SOURCE)}
    assert len(ours) > 250
    assert not ours - compiled


@pytest.mark.parametrize(
    ("operator", "arguments"), [("add.Tensor", 2), ("gt.Tensor", 2), ("atan2.default", 2), ("sqrt.default", 1)]
)
def test_pytorch_casts_before_it_allocates_the_output(operator: str, arguments: int) -> None:
    """The default for backends allocates its memory by a call, so the order can be observed."""
    base, _, overload = operator.partition(".")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
    operands = (torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))[:arguments]
    with torch.autograd.profiler.profile() as profiler:
        getattr(getattr(torch.ops.aten, base), overload).redispatch(keys, *operands)
    events = sorted(profiler.kineto_results.events(), key=lambda event: event.start_ns())
    names = [event.name() for event in events if event.name() in ("aten::to", "aten::empty")]
    assert names[:2] == ["aten::to", "aten::empty"]
