"""The model's emulated CUDA and its stand-in for CuPy compared with a record of PyTorch on a GPU.

The record is from an older release, in which bits of key sets stand for other keys. Sets are compared by the names that
both releases have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dispatchviz.explain.keys.key_layouts import Layout, layout_of, layouts
from tests.cuda_kinds import CUDA_KINDS, cuda_is
from tests.model.test_programs import COMPARISONS
from tests.model_runs import model_record
from truth import records
from truth.compare import difference
from truth.formats.dispatch_log import calls
from truth.programs import ON_CUDA

pytestmark = pytest.mark.record("cuda_programs")

Record = dict[str, Any]

LOG, GRAPHS, CALLS = "every dispatch step", "backward graphs and order", "the calls of an unwatched program"
STATE = "autograd's state after every statement"

THREADS = "threads of two devices ran at the same time"
EARLIER = "PyTorch 2.11, which is recorded, did not unsqueeze the arguments of attention"
DIFFERENT: dict[str, tuple[tuple[str, ...], str]] = {
    "copies_between_devices": ((GRAPHS, CALLS), THREADS),
    "two_devices": ((GRAPHS, CALLS), THREADS),
    "softmax_and_attention": ((LOG, STATE, GRAPHS, "sequence_numbers"), EARLIER),
}
"""Programs that are known to differ, the parts that differ, and the reason.

They are also listed in ``docs/differences.md``.
"""

NOT_RECORDED = {"dropout"}
"""Random programs that the recorder did not recognize as random: its two runs ended differently.

The next record will have them.
"""

RECORD = records.read("cuda_programs")
THEIRS, OURS = layout_of(RECORD["torch"]), layouts()[-1]


def names_in(layout: Layout) -> frozenset[str]:
    return frozenset((*layout.backends, *layout.keys))


def set_text(raw: int, layout: Layout) -> str:
    """The backends and functionalities of a set that both releases have."""
    assert THEIRS is not None
    known = names_in(THEIRS) & names_in(OURS)
    return " ".join(sorted(known.intersection((*layout.backend_names(raw), *layout.bit_names(raw)))))


def log_lines(log: list[list[Any]], layout: Layout | None) -> Iterator[str]:
    assert layout is not None
    for depth, _, operator, key, *sets, how, node in log:
        shown = " | ".join(set_text(raw, layout) for raw in sets)
        yield f"{'  ' * depth}[{how}] {operator} {key} | {shown} | {node or ''}"


def logs(torch: Record, model: Record) -> str:
    if torch["log"] is None:
        return ""
    return difference("log", log_lines(torch["log"], THEIRS), log_lines(model["log"], OURS))


def graphs(torch: Record, model: Record) -> str:
    """The difference in graphs.

    The engine's device thread numbers Nodes too, and its numbers continue from program to program.
    """
    counted = {
        "graphs": [_counted_as(ours, theirs) for ours, theirs in zip(model["graphs"], torch["graphs"], strict=False)]
    }
    same = len(model["graphs"]) == len(torch["graphs"])
    return COMPARISONS[GRAPHS](torch, {**model, **counted} if same else model)


def _counted_as(ours: Record, theirs: Record) -> Record:
    """A graph of the model with PyTorch's sequence numbers, if all numbers of the device thread differ by the same
    amount.
    """
    pairs = list(zip(ours["nodes"], theirs["nodes"], strict=False))
    ahead = {b["sequence_nr"] - a["sequence_nr"] for a, b in pairs if None not in (a["sequence_nr"], b["sequence_nr"])}
    if len(ahead - {0}) != 1 or len(ours["nodes"]) != len(theirs["nodes"]):
        return ours
    return {**ours, "nodes": [{**a, "sequence_nr": b["sequence_nr"]} for a, b in pairs]}


def unwatched_calls(torch: Record, model: Record) -> str:
    if torch["log"] is not None:
        return ""
    called, found = (
        [f"{'  ' * level}{operator}" for level, operator in each] for each in (torch["called"], calls(model["log"]))
    )
    return difference("calls", called, found)


def numbers_taken(torch: Record, model: Record) -> str:
    return "" if torch["log"] is None else COMPARISONS["sequence_numbers"](torch, model)


COMPARED = {**COMPARISONS, LOG: logs, GRAPHS: graphs, CALLS: unwatched_calls, "sequence_numbers": numbers_taken}


@pytest.fixture(params=CUDA_KINDS, autouse=True)
def cuda(request: pytest.FixtureRequest) -> Iterator[None]:
    with cuda_is(request.param):
        yield


@pytest.mark.parametrize("name", RECORD["programs"])
def test_a_program_matches_its_gpu_record(name: str) -> None:
    torch = RECORD["programs"][name]
    model = model_record(torch["source"])
    found = {what: unlike for what, compare in COMPARED.items() if (unlike := compare(torch, model))}
    for what in DIFFERENT.get(name, ((), ""))[0]:
        assert found.pop(what, ""), f"{name} no longer differs in {what}: take it off the list"
    assert not found, "\n\n".join([name, torch["source"], *found.values()])


def test_record_has_the_current_programs() -> None:
    known = {name: source for name, source in ON_CUDA.items() if name not in NOT_RECORDED}
    assert {name: found["source"] for name, found in RECORD["programs"].items()} == known
    assert set(DIFFERENT) <= set(known)
