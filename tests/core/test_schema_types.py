"""Types of schema arguments, and what stands on a stack for Python objects."""

from __future__ import annotations

import pytest

from dispatchviz.core.python_side.ivalue import CastError, to_ivalue, to_object
from dispatchviz.core.python_side.operator_arguments import default_value, matching_stack, python_arguments, stack_for
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.schema.schema_types import schema_type


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
def test_a_type_is_read_and_named_as_pytorch_names_it(text: str, name: str, size: int | None) -> None:
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
def test_a_default_is_what_a_call_without_the_argument_has_on_its_stack(declaration: str, value: object) -> None:
    schema = parse_schema(f"a::f({declaration}) -> ()")
    assert default_value(schema.arguments[0]) == value
    assert type(default_value(schema.arguments[0])) is type(value)
    assert stack_for(schema, (), {}) == [value]


def test_python_gets_no_argument_that_has_its_default_from_the_end_on() -> None:
    schema = parse_schema("a::f(int a, int b=1, float c=2, *, bool d=False, str e='x') -> ()")
    assert python_arguments(schema, [5, 1, 2.0, False, "x"]) == ([5], {})
    assert python_arguments(schema, [5, 1, 3.0, False, "x"]) == ([5, 1, 3.0], {})
    assert python_arguments(schema, [5, 1, 2.0, True, "x"]) == ([5], {"d": True})
    assert python_arguments(schema, [5, True, 2.0, False, "x"]) == ([5, True], {})  # True equals 1 and is none


def test_a_list_on_the_stack_is_a_tuple_and_in_python_a_list() -> None:
    assert to_ivalue("int[]", [1, True]) == (1, 1)
    assert to_object("int[]?", (1, 2)) == [1, 2]
    assert to_object("int[]?", None) is None


def test_a_cast_that_fails_is_an_error_of_its_own_kind_so_that_other_overloads_are_tried() -> None:
    with pytest.raises(CastError):
        to_ivalue("int", 1.5)
    with pytest.raises(RuntimeError, match="is missing value for argument 'x'") as raised:
        matching_stack(parse_schema("a::f(int x) -> ()"), (), {})
    assert type(raised.value) is not RuntimeError
    with pytest.raises(RuntimeError) as raised:
        stack_for(parse_schema("a::f(int x) -> ()"), (), {})
    assert type(raised.value) is RuntimeError
