"""Schemas: every one of PyTorch's is read and printed again; what is no schema is refused with the place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dispatchviz.core.schema import FunctionSchema, SchemaError

DATA = Path(__file__).parent.parent / "data/dispatch_tables.json.gz"
SCHEMAS: dict[str, str] = json.loads(gzip.decompress(DATA.read_bytes()))["schemas"]
parse = FunctionSchema.parse


@pytest.mark.parametrize("name", SCHEMAS)
def test_pytorchs_schemas_are_printed_as_pytorch_prints_them(name: str) -> None:
    schema = parse(SCHEMAS[name])
    assert str(schema) == SCHEMAS[name]
    assert schema.full_name == name


def test_the_parts_of_a_schema() -> None:
    schema = parse("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    assert (schema.namespace, schema.name, schema.overload) == ("aten", "aten::add", "out")
    assert [(a.name, a.type, a.default, a.kwarg_only, a.alias, a.is_write) for a in schema.arguments] == [
        ("self", "Tensor", None, False, None, False),
        ("other", "Tensor", None, False, None, False),
        ("alpha", "Scalar", "1", True, None, False),
        ("out", "Tensor", None, True, "a!", True),
    ]
    assert [(r.name, r.type, r.alias) for r in schema.returns] == [("", "Tensor", "a!")]
    assert schema.tensor_positions == (0, 1, 3)
    assert schema.returned_arguments == (3,)


def test_an_operator_without_namespace_and_overload() -> None:
    schema = parse("f() -> ()")
    assert (schema.namespace, schema.full_name, schema.arguments, schema.returns) == ("", "f", (), ())


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("f(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Tensor[2] e, Tensor(a!)[] f) -> ()", (0, 1, 2, 3, 4, 5)),
        ("f(Tensor[]? a, Scalar b, Generator? c, Device d, (Tensor, int) e, Dict(str, Tensor) f) -> ()", ()),
        ("f(int a, Tensor b, Any c, Tensor[][] d) -> ()", (1,)),
    ],
)
def test_which_arguments_count_for_dispatch(text: str, positions: tuple[int, ...]) -> None:
    assert parse(text).tensor_positions == positions


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("f_(Tensor(a!) self, Tensor other) -> Tensor(a!)", (0,)),
        ("f.out(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))", (1, 2)),
        ("f(Tensor(a) self) -> Tensor(a)", ()),
        ("f(Tensor(a!) self) -> Tensor", ()),
        ("f(Tensor(a!) self) -> ()", ()),
    ],
)
def test_which_arguments_are_returned(text: str, positions: tuple[int, ...]) -> None:
    assert parse(text).returned_arguments == positions


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f(Tensor a,*,int b=1)->Tensor", "f(Tensor a, *, int b=1) -> Tensor"),
        ("f(Tensor a) -> (Tensor)", "f(Tensor a) -> Tensor"),
        ("f(Tensor a) -> (Tensor x, Tensor y)", "f(Tensor a) -> (Tensor x, Tensor y)"),
        ("f(Tensor(a!) x, Tensor(b -> *)[] y) -> Tensor(a!)[]", "f(Tensor(a!) x, Tensor(b -> *)[] y) -> Tensor(a!)[]"),
        ("f(Dict(int, t)(a!) x, (int, Tensor)[] y) -> ()", "f(Dict(int, t)(a!) x, (int, Tensor)[] y) -> ()"),
        ("f(...) -> ...", "f(...) -> ..."),
    ],
)
def test_printing_is_pytorchs(written: str, printed: str) -> None:
    assert str(parse(written)) == printed


@pytest.mark.parametrize(
    ("argument", "printed"),
    [
        ("int[2] d=[0,0]", "int[2] d=0"),
        ("int[1] d=0", "int[1] d=[0]"),
        ("SymInt[2] d=1", "SymInt[2] d=[1, 1]"),
        ("bool[2] d=True", "bool[2] d=[True, True]"),
        ("int[] d=[]", "int[] d=[]"),
        ("int[2]? d=None", "int[2]? d=None"),
        ("float? d=1", "float? d=1"),
        ("Scalar d=1e-3", "Scalar d=0.001"),
        ("float d=1e12", "float d=1000000000000."),
        ("float d=1e19", "float d=1e+19"),
        ("float d=1e-5", "float d=1.0000000000000001e-05"),
        ("float d=3", "float d=3."),
        ("str d='mean'", 'str d="mean"'),
        ("str d='a\\n\\'b'", 'str d="a\\n\\\'b"'),
        ("MemoryFormat d=contiguous_format", "MemoryFormat d=0"),
        ("int d=Mean", "int d=1"),
    ],
)
def test_defaults_are_printed_as_values(argument: str, printed: str) -> None:
    assert str(parse(f"f({argument}) -> ()")) == f"f({printed}) -> ()"


def test_a_default_is_kept_as_it_was_written() -> None:
    assert parse("f(*, MemoryFormat m=contiguous_format) -> ()").arguments[0].default == "contiguous_format"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("foo", 3, "only an operator name is here"),
        ("foo(Tensor self -> Tensor", 16, "expected ',' or ')', found '->'"),
        ("f(Tensr a) -> ()", 2, "unknown type 'Tensr'; common ones are Tensor, SymInt"),
        ("f(Tensor) -> ()", 8, "expected a name for the argument of type Tensor, found ')'"),
        ("f(Tensor a)", 11, "expected '->', found the end"),
        ("f(Tensor a) -> Tensor,", 21, "the schema is complete, but ',' follows"),
        ("f(int a=) -> ()", 8, "expected a default"),
        ("f(*, *, int a) -> ()", 5, "keyword-only arguments began already"),
        ("f(..., int a) -> ()", 7, "'...' must be the last argument"),
        ("f.default(Tensor a) -> ()", 2, "'default' is not a legal overload name"),
        ("f(Tensor(a! a) -> ()", 12, "expected ')'"),
        ("f(int[x] a) -> ()", 6, "expected ']'"),
        ("(Tensor a) -> ()", 0, "expected the operator's name"),
        ("a::(Tensor a) -> ()", 3, "expected the name after the namespace"),
        ("f(Tensor a) -> (Tensor, )", 24, "expected a type"),
    ],
)
def test_what_is_no_schema(text: str, position: int, problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert problem in caught.value.problem
    assert caught.value.position == position
    assert str(caught.value).splitlines()[1:] == [f"  {text}", f"  {' ' * position}^ here"]
