"""Two runs as one tree of rows: every step is in one row, and counterparts stand beside each other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.aligned_rows import AlignedRows, Pair
from dispatchviz.explain.comparison.divergences import Comparison, compare
from dispatchviz.explain.outline.levels import ALL, LEVELS
from dispatchviz.trace import Trace
from truth.programs import PROGRAMS

from .runs import compared, traced
from .test_pairs import PLAIN

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
    "a turn more": (LOOP, LOOP.replace("range(3)", "range(4)")),
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
    """The steps that are not within what formats a tensor."""
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
def test_what_is_compared_stands_side_by_side(name: str) -> None:
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
def test_where_they_part_is_a_row_at_every_level(name: str, level: int) -> None:
    found = compared(*PAIRS[name])
    beside = {(pair.first, pair.second) for pair in everything(rows(found, level))}
    for each in found.divergences:
        assert (each.main.first, each.main.second) in beside or None in (each.main.first, each.main.second)
    kinds = LEVELS[level].kinds
    if kinds is not None:
        steps = {(each.main.first, each.main.second) for each in found.divergences}
        for pair in everything(rows(found, level)):
            told = [
                trace[step]
                for trace, step in ((found.first, pair.first), (found.second, pair.second))
                if step is not None
            ]
            assert (pair.first, pair.second) in steps or any(isinstance(event, kinds) for event in told)


def test_a_program_beside_itself_has_equal_rows_alone() -> None:
    found = compared(PLAIN, PLAIN)
    assert {rows(found, ALL).likeness(pair) for pair in everything(rows(found, ALL))} == {"same"}


def test_other_values_are_another_likeness_than_another_way() -> None:
    found = compared(*PAIRS["other values"])
    tree = rows(found, ALL)
    likenesses = {tree.likeness(pair) for pair in everything(tree)}
    assert "values" in likenesses
    assert "changed" not in likenesses


def test_below_a_layer_the_counterparts_stand_side_by_side() -> None:
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
