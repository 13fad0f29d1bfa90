"""Checks of registrations: signatures and inferred schemas. More texts are compared live with PyTorch."""

from __future__ import annotations

import pytest

from dispatchviz.core.kernel.cpp_signature import T_T, CppSignature, signature_name, with_real_types
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.table.library import Library, Registry, process

K = DispatchKey


def typed(debug: str = "k", cpp: CppSignature = T_T) -> Kernel:
    return Kernel("k", None, debug, cpp=cpp)


@pytest.fixture
def library() -> Library:
    return Library("FRAGMENT", "ns", None, Registry(), "a.py:1")


MISMATCH = """\
Inferred operator schema for a C++ kernel function doesn't match the expected function schema.
  operator: ns::foo
  expected schema: ns::foo(Tensor x, int[2] y) -> Tensor
    registered at a.py:1
  inferred schema: (Tensor _0) -> Tensor _0
    k
  reason: The number of arguments is different. 2 vs 1."""
SCHEMA = "foo(Tensor x, SymInt[2] y) -> Tensor"


def test_second_kernel_that_does_not_fit_is_refused(library: Library) -> None:
    op = library.def_(SCHEMA)
    with pytest.raises(RuntimeError) as caught:
        library.impl("foo", typed(), K.CPU)
    assert str(caught.value) == MISMATCH
    assert op.registrations == {}


def test_later_definition_that_does_not_fit_is_refused(library: Library) -> None:
    library.impl("foo", typed(), K.CPU)
    with pytest.raises(RuntimeError) as caught:
        library.def_(SCHEMA)
    assert str(caught.value) == MISMATCH
    assert library.registry.dangling() == ["ns::foo"]


def test_definition_remains_if_its_kernel_is_refused(library: Library) -> None:
    with pytest.raises(RuntimeError):
        library.def_(SCHEMA, typed())
    op = library.registry.operators["ns::foo"]
    assert op.has_schema
    assert op.registrations == {}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("foo() -> Tensor", "The number of arguments is different. 0 vs 1."),
        ("foo(Tensor x) -> ()", "The number of returns is different. 0 vs 1."),
        ("foo(SymInt[3] x) -> Tensor", "Type mismatch in argument 1: int[] vs Tensor."),
        ("foo(Tensor x) -> Tensor[]", "Type mismatch in return 1: Tensor[] vs Tensor."),
        ("foo(Tensor(a!) x, *, int y=1) -> Tensor(a!)", "The number of arguments is different. 2 vs 1."),
    ],
)
def test_refused_kernel_names_the_difference(library: Library, schema: str, reason: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        library.def_(schema, typed())
    assert str(caught.value).endswith(f"reason: {reason}")


@pytest.mark.parametrize("schema", ["foo(Tensor(a!) x) -> Tensor(a!)", "foo(Tensor x=None, ...) -> Tensor y"])
def test_schemas_are_compared_by_types_only(library: Library, schema: str) -> None:
    assert library.def_(schema, typed()).kernel(K.CompositeImplicitAutograd) is not None


def test_name_suffices_to_define_a_kernel_of_known_signature(library: Library) -> None:
    op = library.def_("foo.bar", typed(), K.CPU)
    assert str(op.schema) == "ns::foo.bar(Tensor _0) -> Tensor _0"
    assert op.alias_analysis == "CONSERVATIVE"
    with pytest.raises(RuntimeError, match="Full schema string was not specified, and we couldn't infer schema either"):
        library.def_("baz", Kernel("k", None, "k", boxed=True))


SIGNATURES = """
Mismatch in kernel C++ signatures
  operator: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    registered at build/aten/src/ATen/RegisterSchema.cpp:6
  kernel 1: at::Tensor (at::Tensor const&, at::Tensor const&, c10::Scalar const&)
    dispatch key: Batched
    registered at aten/src/ATen/LegacyBatchingRegistrations.cpp:1076
  kernel 2: at::Tensor (at::Tensor const&)
    dispatch key: VE
    k
"""


def test_the_first_typed_kernel_fixes_the_signature() -> None:
    """Check it for one of PyTorch's operators: the kernel of the object file that was linked first fixes it."""
    import dispatchviz.torch  # noqa: F401  what makes the process PyTorch's

    library = Library("IMPL", "aten", K.VE)
    with pytest.raises(RuntimeError) as caught:
        library.impl("add.Tensor", typed())
    assert str(caught.value) == SIGNATURES
    library.reset()
    assert process.find("aten::add.Tensor").kernel(K.VE) is None


def test_signature_stays_fixed_after_its_kernel_is_removed(library: Library) -> None:
    other = CppSignature("long (long)", parse_schema("f(int _0) -> int _0"))
    library.impl("bar", typed("keeps the operator"), K.CUDA)
    library.impl("foo", Kernel("k", None, "keeps it too", boxed=True), K.CUDA)
    undo = library.impl("foo", typed("first", other), None)
    undo()
    with pytest.raises(RuntimeError, match=r"kernel 1: long \(long\)\n    dispatch key: \(catch all\)\n    first"):
        library.impl("foo", typed("second"), K.CPU)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("f(Tensor a, Scalar? b) -> ()", "void (at::Tensor const&, std::optional<c10::Scalar> const&)"),
        ("f(Tensor(a!) a, SymInt[2] b) -> Tensor(a!)", "at::Tensor& (at::Tensor&, c10::ArrayRef<long>)"),
        (
            "f(Tensor[] a) -> Tensor[]",
            "std::vector<at::Tensor, std::allocator<at::Tensor> > (c10::ArrayRef<at::Tensor>)",
        ),
        (
            "f(int[1]? a, bool[3] b) -> (Tensor, int)",
            "std::tuple<at::Tensor, long> (c10::OptionalArrayRef<long>, std::array<bool, 3ul>)",
        ),
        ("f(float[]? a) -> SymInt", "c10::SymInt (std::optional<c10::ArrayRef<double> >)"),
    ],
)
def test_signature_names_equal_pytorchs(schema: str, name: str) -> None:
    assert signature_name(parse_schema(schema)) == name


def test_only_symbolic_functions_see_symbolic_sizes() -> None:
    schema = parse_schema("f(SymInt[] a) -> SymInt")
    assert signature_name(schema, symbolic=True) == "c10::SymInt (c10::ArrayRef<c10::SymInt>)"
    assert with_real_types(schema, symbolic=True) is schema
    assert str(with_real_types(schema, symbolic=False)) == "f(int[] a) -> int"
