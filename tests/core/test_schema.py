"""Schemas, the types of their arguments, and the stack values of Python objects."""

from __future__ import annotations

import pytest

from dispatchviz.core.python_side.ivalue import CastError, to_ivalue, to_object
from dispatchviz.core.python_side.operator_arguments import default_value, matching_stack, python_arguments, stack_for
from dispatchviz.core.schema.function_schema import SchemaError
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.schema.schema_types import schema_type
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_schema

parse = parse_schema


def test_pytorchs_schemas_are_printed_as_pytorch_prints_them() -> None:
    names, texts = list(pytorch_operators()), list(map(pytorch_schema, pytorch_operators()))
    schemas = list(map(parse, texts))
    assert len(names) == 3607
    assert list(map(str, schemas)) == texts
    assert [schema.full_name for schema in schemas] == names


def test_schema_is_parsed_into_its_parts() -> None:
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


def test_namespace_and_overload_may_be_missing() -> None:
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
def test_only_tensor_arguments_count_for_dispatch(text: str, positions: tuple[int, ...]) -> None:
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
def test_returned_arguments_are_those_written_by_the_operator(text: str, positions: tuple[int, ...]) -> None:
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
def test_printed_schema_equals_pytorchs(written: str, printed: str) -> None:
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


UNKNOWN_TYPE = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full "
    "list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)


@pytest.mark.parametrize(
    ("text", "problem", "underlined"),
    [
        ("foo(Tensor self -> Tensor", "expected ) but found 'arrow' here", (16, 2)),
        ("f(Tensr a) -> ()", UNKNOWN_TYPE, (2, 5)),
        ("f(Tensor) -> ()", "expected ident but found ')' here", (8, 1)),
        ("f(Tensor a) -> Tensor,", "expected eof but found ',' here", (21, 1)),
        ("f(int a=) -> ()", "expected number but found ')' here", (8, 1)),
        ("f(int a=b) -> ()", "\ninvalid numeric default value", (9, 1)),
        ("f(Tensor a=1) -> ()", "expected None but found 'number' here", (11, 1)),
        ("f(Any a=1) -> ()", "\nunexpected type, file a bug report", (8, 1)),
        ("f(str[] a=[]) -> ()", "\nlists are only supported for float, int and complex types", (10, 1)),
        ("f(..., int a) -> ()", "\n... must be the last element of the argument list", (7, 3)),
        ("f(Tensor(a! a) -> ()", "expected ) but found 'ident' here", (12, 1)),
        ("f(int[x] a) -> ()", "expected number but found 'ident' here", (6, 1)),
        ("f(Dict(int) a) -> ()", "expected , but found ')' here", (10, 1)),
        ("f(Tensor if) -> ()", "expected ident but found 'if' here", (9, 2)),
        ("(Tensor a) -> ()", "expected ident but found '(' here", (0, 1)),
        ("a::(Tensor a) -> ()", "expected ident but found '(' here", (3, 1)),
        ("a:b(Tensor a) -> ()", "expected : but found 'ident' here", (2, 1)),
        ("f(Tensor a) -> (Tensor, )", "expected ident but found ')' here", (24, 1)),
        ("f(Tensor a); -> ()", "expected a valid token but found ';' here", (11, 1)),
    ],
)
def test_text_that_is_not_a_schema_is_refused_at_its_position(
    text: str, problem: str, underlined: tuple[int, int]
) -> None:
    """The texts are PyTorch's. Many more are compared live."""
    with pytest.raises(SchemaError) as caught:
        parse(text)
    start, length = underlined
    assert str(caught.value) == f"{problem}:\n{text}\n{' ' * start}{'~' * length} <--- HERE\n"


DEFAULT_BEFORE = (
    '!seen_default_arg || arg.kwarg_only() INTERNAL ASSERT FAILED at "aten/src/ATen/core/function_schema.h":342, '
    "please report a bug to PyTorch. Non-default positional argument follows default argument. Parameter b in "
    "f(int a=1, int b) -> ()"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("foo", "Tried to parse a function schema but only the operator name was given"),
        ("f(Tensor a)", "expected arrow but found 'eof' here:\nf(Tensor a)"),
        ("f(", "expected ident but found 'eof' here:\nf("),
        ("f.default(Tensor a) -> ()", "default is not a legal overload name for aten operators"),
        ("f.__x(Tensor a) -> ()", "__x is not a legal overload name for aten operators"),
        ("f(int a=1, int b) -> ()", DEFAULT_BEFORE),
    ],
)
def test_text_that_is_not_a_schema_as_a_whole_is_refused(text: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert str(caught.value) == words


def test_the_lines_around_a_mistake_are_shown() -> None:
    with pytest.raises(SchemaError) as caught:
        parse("f(Tensor\na,\nTensr b,\nint c,\nint d,\nint e) -> ()")
    assert str(caught.value) == f"{UNKNOWN_TYPE}:\nf(Tensor\na,\nTensr b,\n~~~~~ <--- HERE\nint c,\nint d,\n"


def test_only_trusted_schemas_may_have_pytorchs_own_types() -> None:
    assert str(parse("f(number a, t b) -> ()")) == "f(number a, t b) -> ()"
    with pytest.raises(SchemaError, match="unknown type specifier"):
        parse_schema("f(number a) -> ()", trusted=False)


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("Tensor", "Tensor", None),
        ("int[2]?", "Optional[List[int]]", None),
        ("SymInt[3]", "List[int]", 3),
        ("Tensor?[]", "List[Optional[Tensor]]", None),
        ("ScalarType?", "Optional[int]", None),
        ("Dict(str, (int, Tensor))", "Dict[str, Tuple[int, Tensor]]", None),
    ],
)
def test_types_are_parsed_and_named_as_in_pytorch(text: str, name: str, size: int | None) -> None:
    assert schema_type(text).name == name
    assert schema_type(text).size == size


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("int[2] x=1", (1, 1)),
        ("float x=2", 2.0),
        ("Scalar x=1", 1),
        ("Scalar x=1.0", 1.0),
        ("MemoryFormat x=contiguous_format", "contiguous_format"),
        ("MemoryFormat x=0", "contiguous_format"),
        ("str x='a b'", "a b"),
        ("bool x=True", True),
        ("int x=Mean", 1),
        ("Tensor? x=None", None),
        ("int[] x=[]", ()),
    ],
)
def test_missing_argument_has_its_default_on_the_stack(declaration: str, value: object) -> None:
    schema = parse_schema(f"a::f({declaration}) -> ()")
    assert default_value(schema.arguments[0]) == value
    assert type(default_value(schema.arguments[0])) is type(value)
    assert stack_for(schema, (), {}) == [value]


def test_trailing_default_arguments_are_not_passed_to_python() -> None:
    schema = parse_schema("a::f(int a, int b=1, float c=2, *, bool d=False, str e='x') -> ()")
    assert python_arguments(schema, [5, 1, 2.0, False, "x"]) == ([5], {})
    assert python_arguments(schema, [5, 1, 3.0, False, "x"]) == ([5, 1, 3.0], {})
    assert python_arguments(schema, [5, 1, 2.0, True, "x"]) == ([5], {"d": True})
    assert python_arguments(schema, [5, True, 2.0, False, "x"]) == ([5, True], {})  # True equals 1 and is none


def test_a_list_on_the_stack_is_a_tuple_and_in_python_a_list() -> None:
    assert to_ivalue("int[]", [1, True]) == (1, 1)
    assert to_object("int[]?", (1, 2)) == [1, 2]
    assert to_object("int[]?", None) is None


def test_failed_cast_lets_the_next_overload_be_tried() -> None:
    with pytest.raises(CastError):
        to_ivalue("int", 1.5)
    with pytest.raises(RuntimeError, match="is missing value for argument 'x'") as raised:
        matching_stack(parse_schema("a::f(int x) -> ()"), (), {})
    assert type(raised.value) is not RuntimeError
    with pytest.raises(RuntimeError) as raised:
        stack_for(parse_schema("a::f(int x) -> ()"), (), {})
    assert type(raised.value) is RuntimeError
