"""The model compared with stored records of the same programs and calls in PyTorch."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dispatchviz import torch as model
from tests.model_runs import model_record
from truth import records
from truth.compare import close, close_text, difference, met_in_order
from truth.observers.runs import evaluated
from truth.readable import fact_texts, graph_texts, log_texts

DIFFERENT_INSIDE: dict[str, str] = {}
"""Programs whose logs are known to differ from PyTorch's, with the reason; ``docs/differences.md`` lists them."""

LEAST_RATIO = 0.98
"""The share of PyTorch's dispatch steps over all programs that the model must make in PyTorch's order."""

PROGRAMS: Mapping[str, Any] = records.programs()

Record = dict[str, Any]


def logs(torch: Record, model: Record) -> str:
    """The difference in dispatch steps: depth, operator, key, raw key set, thread-local sets, call or redispatch, Node.

    Programs that call operators on the meta device inside were not watched.
    """
    if torch["log"] is None:
        return ""
    return difference("log", log_texts(torch["log"]), log_texts(model["log"]))


def states(torch: Record, model: Record) -> str:
    """The difference in the autograd state of each tensor after every statement."""
    return difference("facts", fact_texts(torch["facts"]), fact_texts(model["facts"]))


def graphs(torch: Record, model: Record) -> str:
    """The difference in the backward graphs, the order of execution, and the numbers in saved tensors."""
    ours, theirs = model["graphs"], torch["graphs"]
    shown = difference("graphs", graph_texts(theirs), graph_texts(ours))
    return shown or ("" if close(theirs, ours) else f"the saved tensors hold other numbers\n{theirs}\n{ours}")


def numbers(part: str) -> Callable[[Record, Record], str]:
    """A comparison of numbers within rounding."""
    return lambda torch, model: "" if close(torch[part], model[part]) else unlike(part, torch, model)


def exactly(part: str) -> Callable[[Record, Record], str]:
    """A comparison for equality."""
    return lambda torch, model: "" if torch[part] == model[part] else unlike(part, torch, model)


def unlike(part: str, torch: Record, model: Record) -> str:
    return f"other {part}\nPyTorch {torch[part]}\nmodel   {model[part]}"


COMPARISONS: dict[str, Callable[[Record, Record], str]] = {
    "every dispatch step": logs,
    "autograd's state after every statement": states,
    "backward graphs and order": graphs,
    **{part: numbers(part) for part in ("values", "grads")},
    **{part: exactly(part) for part in ("error", "warnings", "output", "sequence_numbers")},
}
"""The compared parts of a record, each with a function that returns the difference as a text, empty if there is
none.
"""


RECORDED = [
    pytest.param(name, marks=pytest.mark.record(f"programs/{subject}"))
    for name, subject in records.programs().subjects.items()
]


@pytest.mark.parametrize("name", RECORDED)
def test_a_program_matches_its_record(name: str) -> None:
    torch = PROGRAMS[name]
    model = model_record(torch["source"])
    found = {what: unlike for what, compare in COMPARISONS.items() if (unlike := compare(torch, model))}
    if name in DIFFERENT_INSIDE:
        assert found.pop("every dispatch step", ""), f"{name} no longer differs: take it off the list"
    assert not found, "\n\n".join([name, torch["source"], *found.values()])


def test_steps_in_order_reach_the_least_ratio() -> None:
    """Check the share of steps in order. A program that is not on the list makes them all, or its own test fails."""
    watched = {name: len(torch["log"]) for name, torch in PROGRAMS.items() if torch["log"] is not None}
    steps = sum(watched.values())
    met = sum(met_by_the_model(name) if name in DIFFERENT_INSIDE else count for name, count in watched.items())
    print(f"{met} of PyTorch's {steps} dispatch steps in {len(watched)} programs are met in order: {met / steps:.2%}")
    assert met >= LEAST_RATIO * steps


def met_by_the_model(name: str) -> int:
    torch = PROGRAMS[name]
    model = model_record(torch["source"])
    return met_in_order(log_texts(torch["log"]), log_texts(model["log"]))


EXPRESSIONS: dict[str, list[str]] = records.read("expressions")["expressions"]


@pytest.mark.record("expressions")
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression_gives_the_recorded_result_or_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = evaluated(model, text)
    assert found == EXPRESSIONS[text]


FORUM = records.programs()["forum_cpu"]


def test_one_changed_key_set_is_found() -> None:
    log = copy.deepcopy(FORUM["log"])
    log[3][4] ^= 1 << 34
    assert "-" in difference("forum_cpu", log_texts(FORUM["log"]), log_texts(log))


def test_one_missing_step_is_found() -> None:
    log = FORUM["log"]
    assert difference("forum_cpu", log_texts(log), log_texts(log[:-1]))
    assert not difference("forum_cpu", log_texts(log), log_texts(log))


def test_a_changed_edge_or_order_is_found() -> None:
    for change in ("edges", "order"):
        graphs = copy.deepcopy(FORUM["graphs"])
        if change == "edges":
            graphs[0]["nodes"][1]["edges"][1] = [2, 0]
        else:
            graphs[0]["order"].reverse()
        assert graph_texts(graphs) != graph_texts(FORUM["graphs"])


def test_numbers_are_compared_within_rounding() -> None:
    assert close([1.0, math.nan], [1.0 + 1e-7, math.nan])
    assert not close(1.0, 1.0001)
    assert not close(1, 1.0)
    assert not close({"x": [1.0]}, {"x": [1.0, 2.0]})


def test_output_is_compared_within_rounding() -> None:
    assert close_text("loss 1.1863722801208496\n", "loss 1.1863723993301392\n")
    assert not close_text("loss 1.1863722801208496\n", "loss 1.1864\n")
    assert close_text("[0.004154205322265625]", "[0.004150390625]")  # half precision
    assert not close_text("[0.004154205322265625]", "[0.0054931640625]")
    assert not close_text("[70000.5, 0.004154205322265625]", "[70000.5, 0.004150390625]")
    assert not close_text("a 1.0", "b 1.0")
    assert not close_text("1.0", "1.0 2.0")
    assert not close_text("iteration 1", "iteration 2")
