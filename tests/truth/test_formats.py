"""Reading the text of a record gives the record that was written, for generated and for stored records."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truth import records
from truth.formats.dispatch_log import SetNames, log_lines, read_log, read_table
from truth.formats.json_text import WIDTH, json_text
from truth.formats.program_records import RecordFile, file_text
from truth.formats.values import read_value, value_text


def ordered(
    of: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]] | None = None
) -> st.SearchStrategy[dict[str, Any]]:
    """A strategy for dicts with their names in this order, which is part of a record."""
    names = (*of, *(optional or {}))
    found = st.fixed_dictionaries(of, optional=optional)
    return found.map(lambda made: {name: made[name] for name in names if name in made})


NAMES = st.from_regex(r"[a-z_]\w{0,8}", fullmatch=True)
NODES = st.sampled_from(["AddBackward0", "torch::autograd::AccumulateGrad", "MulBackward0", "torch::jit::(anonymous)"])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
LINES = TEXTS.filter(lambda text: "\n" not in text)
SHAPES = st.lists(st.integers(0, 4), max_size=3)
NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
TENSORS = ordered(
    {"shape": SHAPES, "stride": SHAPES, "dtype": st.sampled_from(["torch.float32", "torch.int64"]), "data": NUMBERS}
)
VALUES = st.recursive(
    st.one_of(NUMBERS, TENSORS, st.lists(st.floats(), max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
EDGES = st.lists(st.integers(0, 9), min_size=2, max_size=2)
STEPS = st.tuples(
    st.integers(0, 5),
    st.integers(0, 30),
    st.sampled_from(["aten::add.Tensor", "aten::_to_copy", "mine::in", "aten::i0", "aten::__and__.Tensor"]),
    st.sampled_from(["CPU", "AutogradCPU"]),
    *[st.sampled_from([0, 0x10001, 0x1FF8000000000])] * 3,
    st.sampled_from(["call", "redispatch"]),
    st.one_of(st.none(), NODES),
).map(list)
STATES = st.one_of(
    st.tuples(
        st.booleans(), st.booleans(), st.one_of(st.none(), st.integers(0, 9)), st.one_of(st.none(), NODES), EDGES
    ).map(lambda state: [*state[:4], state[4][0]]),
    ordered({"error": LINES}),
)
GRAPHS = ordered(
    {
        "roots": st.lists(EDGES, max_size=3),
        "nodes": st.lists(
            ordered(
                {
                    "name": NODES,
                    "sequence_nr": st.one_of(st.none(), st.integers(0, 99)),
                    "topological_nr": st.integers(0, 9),
                    "edges": st.lists(st.one_of(st.none(), EDGES), max_size=3),
                    "inputs": st.lists(st.tuples(SHAPES, st.just("torch.float32")).map(list), max_size=3),
                    "variable": st.one_of(st.none(), NAMES),
                    "saved": st.dictionaries(NAMES, VALUES, max_size=3),
                }
            ),
            max_size=3,
        ),
        "order": st.lists(st.integers(0, 9), max_size=3),
    }
)
NAMED_VALUES = st.one_of(st.none(), st.dictionaries(NAMES, VALUES, max_size=3))
RECORDS = ordered(
    {
        "source": TEXTS,
        "facts": st.lists(
            st.tuples(st.integers(1, 30), st.dictionaries(NAMES, STATES, min_size=1, max_size=2)).map(list),
            max_size=3,
            unique_by=lambda fact: fact[0],
        ),
        "graphs": st.lists(GRAPHS, max_size=2),
        "values": NAMED_VALUES,
        "grads": NAMED_VALUES,
        "error": st.one_of(st.none(), st.tuples(NAMES, LINES, st.integers(0, 30)).map(list)),
        "warnings": st.lists(LINES, max_size=2),
        "output": TEXTS,
    },
    optional={"log": st.one_of(st.none(), st.lists(STEPS, max_size=6)), "sequence_numbers": st.integers(0, 99)},
)


@pytest.mark.long
@given(st.dictionaries(NAMES, RECORDS, min_size=1, max_size=3))
def test_any_records_are_read_as_they_were_written(found: dict[str, dict[str, Any]]) -> None:
    read = RecordFile(file_text("2.13.0", found))
    assert {name: json.dumps(record, sort_keys=True) for name, record in found.items()} == {
        name: json.dumps(read[name], sort_keys=True) for name in read
    }


@pytest.mark.parametrize("subject", ["forum", "views", "func", "errors", "zero_tensors"])
def test_stored_records_are_written_as_they_are(subject: str) -> None:
    text = records.text(records.file(f"programs/{subject}"))
    read = RecordFile(text)
    assert file_text(read.torch, dict(read)) == text


@given(VALUES)
def test_any_value_is_on_one_line_and_read_as_it_was_written(value: Any) -> None:
    text = value_text(value)
    assert "\n" not in text
    assert json.dumps(read_value(text)) == json.dumps(value)


def test_dict_that_reads_as_a_tensor_is_refused() -> None:
    with pytest.raises(ValueError, match="read as a tensor"):
        value_text({"float32[2]": [1.0, 2.0]})


def test_tensor_is_written_under_its_dtype_and_shape() -> None:
    tensor = {"shape": [2, 2], "stride": [1, 2], "dtype": "torch.float32", "data": [[1.0, math.inf], [0.5, 2.0]]}
    assert value_text(tensor) == '{"float32[2,2](1,2)":[[1.0,Infinity],[0.5,2.0]]}'
    assert value_text(tensor | {"stride": [2, 1]}) == '{"float32[2,2]":[[1.0,Infinity],[0.5,2.0]]}'


def test_colliding_names_of_sets_get_longer() -> None:
    names = SetNames()
    many = [("CPU", raw, 0, 0) for raw in range(3000)]  # more than a hash of three digits can distinguish
    assert len({names.name(sets) for sets in many}) == len(many)
    table = read_table(names.table())
    assert [table[names.name(sets)] for sets in many] == many


def test_call_is_on_one_line_with_its_inner_calls() -> None:
    names = SetNames()
    cpu = names.name(("CPU", 1, 0, 0))

    def step(depth: int, operator: str, how: str = "call", node: str | None = None) -> list[Any]:
        return [depth, 3, operator, "CPU", 1, 0, 0, how, node]

    long = [step(1, f"mine::{'x' * 30}{number}") for number in range(4)]
    log = [
        step(0, "aten::sum"),
        step(1, "aten::sum", "redispatch"),
        step(2, "mine::sum", "redispatch"),
        *2 * [step(0, "aten::to"), step(1, "aten::copy_"), step(1, "aten::add"), step(2, "aten::mul")],
        step(0, "aten::cat"),
        *long,
        step(1, "aten::sum", "call", "SumBackward0"),
    ]
    lines = list(log_lines(log, names))
    assert lines == [
        "@3",
        f" sum {cpu} > {cpu} >mine::sum {cpu}",
        f" to {cpu} (copy_ {cpu}; add {cpu} (mul {cpu})) × 2",
        f" cat {cpu}",
        *(f"  {operator} {cpu}" for _, _, operator, *_ in long),
        "in SumBackward0",
        f"  sum {cpu}",
    ]
    assert read_log(lines, read_table(names.table())) == log


@given(VALUES)
def test_json_text_is_the_same_json(value: Any) -> None:
    text = json_text(value)
    assert json.dumps(json.loads(text)) == json.dumps(value)


def test_json_text_breaks_long_lines() -> None:
    rows = [[number] * 20 for number in range(100, 110)]
    lines = json_text({"rows": rows, "many": [*range(100)], "few": [1, 2]}).split("\n")
    assert lines[:3] == ["{", ' "rows": [', f"  {rows[0]},"]
    assert lines[13:15] == [' "many": [', f"  {', '.join(map(str, range(32)))},"]
    assert lines[-3:] == [' "few": [1, 2]', "}", ""]
    assert max(map(len, lines)) <= WIDTH
