"""Tests of the alignment of the rows of two runs. A program compared with itself never differs."""

from __future__ import annotations

import random
import typing
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison import event_facts, sequence_alignment
from dispatchviz.explain.comparison.aligned_rows import AlignedRows, Pair
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.comparison.event_facts import TEXT, pairing, values, way
from dispatchviz.explain.comparison.sequence_alignment import Places, aligned
from dispatchviz.explain.outline.levels import ALL, LEVELS
from dispatchviz.trace import Trace, TraceError
from dispatchviz.views.cards.diff_text import diff_lines
from dispatchviz.views.text.console import Console
from truth.programs import PROGRAMS

from .runs import compared, traced
from .test_pairs import PLAIN

KINDS = typing.get_args(ev.AnyEvent)
COUNTED = event_facts._COUNTED


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_counting_numbers_are_split_off_or_left_out(kind: type[ev.Event]) -> None:
    """A field that contains counting numbers and other facts is either split, or left out with a reason."""
    for name, written in kind.__annotations__.items():
        counts = any(counted in written for counted in COUNTED)
        known = (kind, name) in event_facts._TAKEN_APART or (kind, name) in event_facts._LEFT_OUT
        assert not counts or written in COUNTED or written in event_facts._BY_TYPE or known or kind in TEXT, name


def test_tables_name_fields_that_exist() -> None:
    tables: tuple[Any, ...] = (*event_facts._LEFT_OUT, *event_facts._TAKEN_APART, *event_facts.VALUES)
    pairs = {(kind, name) for kind, names in event_facts._PAIRED_BY.items() for name in names}
    named: set[tuple[Any, str]] = {*tables, *pairs}
    for kind, name in named:
        assert name in kind.__struct_fields__, (kind, name)


def test_tensor_numbers_do_not_change_the_way() -> None:
    one = ev.KeySetComputed(5, 4, (("self", 1, 7), ("other", 2, 9)), 0, 0, 0, 15)
    other = msgspec.structs.replace(one, seq=8, parent=7, arguments=(("self", 4, 7), ("other", 4, 9)))
    assert way(ev.KeySetComputed)(one) == way(ev.KeySetComputed)(other)
    assert way(ev.KeySetComputed)(one) != way(ev.KeySetComputed)(msgspec.structs.replace(one, excluded=1))


def test_values_do_not_change_the_way() -> None:
    one = ev.BindingEntered(1, 0, "torch.add", "f", "s", 1, (("input", "t3"), ("alpha", "1")), "aten::add.Tensor")
    renamed = msgspec.structs.replace(one, arguments=(("input", "t5"), ("alpha", "1")))
    other = msgspec.structs.replace(one, arguments=(("input", "t3"), ("alpha", "2")))
    had = values(ev.BindingEntered)
    assert had is not None
    assert had(one) == had(renamed) != had(other)
    assert way(ev.BindingEntered)(one) == way(ev.BindingEntered)(other)
    assert pairing(ev.BindingEntered)(one) == "torch.add"


SEQUENCES = st.lists(st.integers(0, 4), max_size=14)


def longest(a: list[int], b: list[int]) -> int:
    """Return the length of the longest common subsequence, by the textbook dynamic program."""
    row = [0] * (len(b) + 1)
    for x in a:
        new = [0]
        for j, y in enumerate(b):
            new.append(row[j] + 1 if x == y else max(row[j + 1], new[j]))
        row = new
    return row[-1]


def check(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    pairs = aligned(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < n for (i, j), (k, n) in pairwise(pairs))
    return pairs


@given(SEQUENCES, SEQUENCES)
def test_alignment_is_a_longest_common_subsequence(a: list[int], b: list[int]) -> None:
    assert len(check(a, b)) == longest(a, b)


@given(SEQUENCES, SEQUENCES)
def test_alignment_beyond_the_work_limit_still_pairs_elements(a: list[int], b: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence_alignment, "MOST_EDITS", 0)
        pairs = check(a, b)
    assert bool(pairs) == bool(set(a) & set(b))


def test_alignment_of_long_disjoint_sequences_ends() -> None:
    many = 200_000
    assert aligned(range(many), range(many, 2 * many)) == []
    assert len(check([*range(many), 1], [2, *range(many)])) == many


def test_alignment_of_long_different_sequences_ends() -> None:
    a, b = [n % 7 for n in range(100_000)], [n % 11 for n in range(100_000)]
    assert len(check(a, b)) > 1000


def test_additional_element_of_a_loop_is_the_last_one() -> None:
    assert aligned([9, 1, 2, 1, 2, 8], [9, 1, 2, 1, 2, 1, 2, 8]) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 7)]


def test_places_are_searched_from_the_given_position() -> None:
    places = Places(["a", "b", "a", "c", "b"])
    assert [places.first(["a"], 0), places.first(["b", "c"], 2), places.first(["a"], 3)] == [0, 3, None]
    assert places.first(["b", "a"], 4) == 4


LOOP = "import torch\nx = torch.ones(3)\nfor i in range(3):\n    x = x * 2\nprint(x)\n"
MATMUL = "import torch\nx = torch.ones(2, 2)\nh = torch.mm(x, x)\n"

PAIRS = {
    "no_grad": (PLAIN, PLAIN.replace("    z =", "    with torch.no_grad():\n        z =")),
    "inference_mode": (PLAIN, PLAIN.replace("    z =", "    with torch.inference_mode():\n        z =")),
    "on one line": (PLAIN, PLAIN.replace("    z =", "    with torch.inference_mode(): z =")),
    "autocast": (MATMUL, MATMUL.replace("h =", 'with torch.autocast("cpu"): h =')),
    "autocast the other way": (MATMUL.replace("h =", 'with torch.autocast("cpu"): h ='), MATMUL),
    "vmap": (PLAIN, PLAIN.replace("torch.add(", "torch.vmap(torch.add)(")),
    "device": (PLAIN, PLAIN.replace("ones(2", 'ones(2, device="cuda"')),
    "an iteration more": (LOOP, LOOP.replace("range(3)", "range(4)")),
    "other values": (LOOP, LOOP.replace("x * 2", "x * 3")),
    "lines split": (LOOP, LOOP.replace("x = x * 2", "y = x * 2\n    x = y + 1\n    z = x")),
    "raises": (PLAIN, PLAIN.rstrip() + "\n    z.sum().backward()\n    z.sum().backward()\n"),
    "other programs": (PLAIN, LOOP),
    "nothing at all": (PLAIN, "pass\n"),
}


def rows(found: Comparison, level: int) -> AlignedRows:
    return AlignedRows(found, level, [(each.main.first, each.main.second) for each in found.divergences])


def everything(tree: AlignedRows) -> Iterator[Pair]:
    waiting = list(reversed(tree.top))
    while waiting:
        pair = waiting.pop()
        yield pair
        waiting.extend(reversed(tree.children(pair)))


def expected(trace: Trace) -> set[int]:
    """Return the steps that are not within an event that formats a tensor."""
    hidden = {inner for step in trace.steps_of(ev.TensorFormatted) for inner in range(step + 1, trace.ends[step] + 1)}
    return set(range(len(trace))) - hidden


def check_complete(found: Comparison) -> None:
    tree = rows(found, ALL)
    pairs = list(everything(tree))
    for trace, steps in (
        (found.first, [pair.first for pair in pairs if pair.first is not None]),
        (found.second, [pair.second for pair in pairs if pair.second is not None]),
    ):
        assert max(Counter(steps).values(), default=1) == 1, "no step is in two rows"
        assert set(steps) == expected(trace), "each is in one"
    for pair in pairs:
        check_likeness(tree, pair)


def check_likeness(tree: AlignedRows, pair: Pair) -> None:
    likeness = tree.likeness(pair)
    assert (likeness == "first") == (pair.second is None)
    assert (likeness == "second") == (pair.first is None)
    if likeness == "same":
        assert tree.difference(pair) is None
        assert all(tree.likeness(each) == "same" for each in tree.children(pair))


@pytest.mark.parametrize("name", PAIRS)
def test_every_step_is_in_one_row(name: str) -> None:
    check_complete(compared(*PAIRS[name]))


@pytest.mark.parametrize("name", PAIRS)
def test_compared_steps_are_in_one_row(name: str) -> None:
    tree = rows(compared(*PAIRS[name]), ALL)
    beside = {(pair.first, pair.second) for pair in everything(tree)}
    for difference in tree.alignment.differences():
        if difference.first is not None and difference.second is not None:
            assert (difference.first, difference.second) in beside


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_every_step_of_any_two_programs_is_in_one_row(seed: int) -> None:
    chosen, names = random.Random(seed), sorted(PROGRAMS)
    check_complete(compare(*(traced(PROGRAMS[chosen.choice(names)]) for _ in range(2))))


@pytest.mark.parametrize("level", range(len(LEVELS)))
@pytest.mark.parametrize("name", PAIRS)
def test_first_difference_is_a_row_at_every_level(name: str, level: int) -> None:
    found = compared(*PAIRS[name])
    beside = {(pair.first, pair.second) for pair in everything(rows(found, level))}
    for each in found.divergences:
        assert (each.main.first, each.main.second) in beside or None in (each.main.first, each.main.second)
    kinds = LEVELS[level].kinds
    if kinds is not None:
        steps = {(each.main.first, each.main.second) for each in found.divergences}
        for pair in everything(rows(found, level)):
            texts_about = [
                trace[step]
                for trace, step in ((found.first, pair.first), (found.second, pair.second))
                if step is not None
            ]
            assert (pair.first, pair.second) in steps or any(isinstance(event, kinds) for event in texts_about)


def test_program_compared_with_itself_has_only_equal_rows() -> None:
    found = compared(PLAIN, PLAIN)
    assert {rows(found, ALL).likeness(pair) for pair in everything(rows(found, ALL))} == {"same"}


def test_other_values_and_other_way_differ_in_likeness() -> None:
    found = compared(*PAIRS["other values"])
    tree = rows(found, ALL)
    likenesses = {tree.likeness(pair) for pair in everything(tree)}
    assert "values" in likenesses
    assert "changed" not in likenesses


def test_counterparts_below_a_layer_are_in_one_row() -> None:
    found = compared(*PAIRS["autocast"])
    tree = rows(found, ALL)
    pairs = [pair for pair in everything(tree) if pair.first is not None and pair.second is not None]
    events = [(found.first[pair.first], found.second[pair.second]) for pair in pairs]
    calls = [
        (one, other) for one, other in events if isinstance(one, ev.Dispatched) and isinstance(other, ev.Dispatched)
    ]
    keys = [(one.key, other.key) for one, other in calls if one.operator == other.operator == "aten::mm"]
    assert keys == [("AutogradCPU", "AutocastCPU"), ("CPU", "CPU")], "what AutogradCPU does is beside itself"
    alone = [found.second[pair.second] for pair in everything(tree) if pair.first is None and pair.second is not None]
    assert any(isinstance(event, ev.AutocastCast) for event in alone)


EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(PROGRAMS)
SOME = NAMES[::20]


def twice(source: str) -> None:
    traced.cache_clear()
    first = traced(source)
    traced.cache_clear()
    found = compare(first, traced(source))
    assert found.same, [each.main for each in found.divergences]
    assert found.output is None
    assert found.edit is None


@pytest.mark.long
@pytest.mark.parametrize("name", SOME)
def test_program_does_not_differ_from_itself(name: str) -> None:
    twice(PROGRAMS[name])


@pytest.mark.parametrize(
    "example", ["forum", "vmap", "autocast", "inplace_error", "custom_operator", "wrapper_subclass"]
)
def test_example_does_not_differ_from_itself(example: str) -> None:
    twice((EXAMPLES / f"{example}.py").read_text())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_any_two_programs_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    first, second = (traced(PROGRAMS[chosen.choice(NAMES)]) for _ in range(2))
    found = compare(first, second)
    lines = list(diff_lines(found, ("in A", "in B"), Console(80, False), every=True))
    assert lines
    assert all(len(line) <= 80 or " " not in line.strip() or line.startswith("  ") for line in lines)
    back = compare(second, first)
    assert back.same == found.same


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_programs_without_some_lines_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    lines = PROGRAMS[chosen.choice(NAMES)].splitlines(keepends=True)
    kept = [line for line in lines if line.startswith((" ", "import")) or chosen.random() < 0.8]
    try:
        compile("".join(kept), "p.py", "exec")
    except SyntaxError:
        return
    found = compare(traced("".join(lines)), traced("".join(kept)))
    assert list(diff_lines(found, ("in A", "in B"), Console(80, False)))


@pytest.mark.parametrize("seed", range(30))
def test_damaged_and_forged_files_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    whole = traced((EXAMPLES / "vmap.py").read_text())
    raw = bytearray(whole.encoded((".dvtrace", ".jsonl")[seed % 2]))
    for _ in range(chosen.randrange(1, 6)):
        raw[chosen.randrange(len(raw))] = chosen.randrange(256)
    try:
        damaged = Trace.decoded(bytes(raw), "t")
    except TraceError:
        return
    for pair in ((whole, damaged), (damaged, whole), (damaged, damaged)):
        assert list(diff_lines(compare(*pair), ("in A", "in B"), Console(80, False), every=True))


def test_comparison_of_forged_columns_ends() -> None:
    whole = traced("import torch\nwith torch.inference_mode():\n    x = torch.ones(2) + 1\n")
    chosen = random.Random(0)
    for name in ("parents", "lines", "ends", "operators", "keys"):
        column: Any = [chosen.randrange(-5, 2 * len(whole)) for _ in whole]
        columns: Any = replace(whole.columns, **{name: column})
        forged = Trace(whole.header, whole.events, columns=columns)
        compare(whole, forged)
        compare(forged, whole)
