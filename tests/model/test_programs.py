"""The model against what real PyTorch did with the same programs, from the stored records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.model_runs import model_record
from truth import records
from truth.compare import close, difference, met_in_order
from truth.readable import fact_texts, graph_texts, log_texts

DIFFERENT_INSIDE: dict[str, str] = {}
"""Programs whose logs are known to differ from PyTorch's, with the reason; ``docs/differences.md`` lists them."""

LEAST_RATIO = 0.98
"""Of PyTorch's dispatch steps over all programs, how many the model has to meet in PyTorch's order."""

PROGRAMS: Mapping[str, Any] = records.programs()

Record = dict[str, Any]


def logs(torch: Record, model: Record) -> str:
    """Depth, operator, key, raw key set, the thread's sets, call or redispatch, and in which Node: all the way.

    Programs that call operators on the meta device inside were not watched.
    """
    if torch["log"] is None:
        return ""
    return difference("log", log_texts(torch["log"]), log_texts(model["log"]))


def states(torch: Record, model: Record) -> str:
    """The autograd state of each tensor after every statement."""
    return difference("facts", fact_texts(torch["facts"]), fact_texts(model["facts"]))


def graphs(torch: Record, model: Record) -> str:
    """The backward graphs, the order of execution, the numbers in saved tensors."""
    ours, theirs = model["graphs"], torch["graphs"]
    shown = difference("graphs", graph_texts(theirs), graph_texts(ours))
    return shown or ("" if close(theirs, ours) else f"the saved tensors hold other numbers\n{theirs}\n{ours}")


def numbers(part: str) -> Callable[[Record, Record], str]:
    """Equal but for rounding."""
    return lambda torch, model: "" if close(torch[part], model[part]) else unlike(part, torch, model)


def exactly(part: str) -> Callable[[Record, Record], str]:
    """Equal to the character."""
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
"""What of a program's record has to be PyTorch's, and how it is compared: a text of the difference, empty if none."""


RECORDED = [
    pytest.param(name, marks=pytest.mark.record(f"programs/{subject}"))
    for name, subject in records.programs().subjects.items()
]


@pytest.mark.parametrize("name", RECORDED)
def test_a_program_does_what_it_did_on_pytorch(name: str) -> None:
    torch = PROGRAMS[name]
    model = model_record(torch["source"])
    found = {what: unlike for what, compare in COMPARISONS.items() if (unlike := compare(torch, model))}
    if name in DIFFERENT_INSIDE:
        assert found.pop("every dispatch step", ""), f"{name} no longer differs: take it off the list"
    assert not found, "\n\n".join([name, torch["source"], *found.values()])


def test_ratio_of_steps_met_in_order() -> None:
    """A program that is not on the list meets them all, or its own test fails; shown with ``-rA``."""
    watched = {name: len(torch["log"]) for name, torch in PROGRAMS.items() if torch["log"] is not None}
    steps = sum(watched.values())
    met = sum(met_by_the_model(name) if name in DIFFERENT_INSIDE else count for name, count in watched.items())
    print(f"{met} of PyTorch's {steps} dispatch steps in {len(watched)} programs are met in order: {met / steps:.2%}")
    assert met >= LEAST_RATIO * steps


def met_by_the_model(name: str) -> int:
    torch = PROGRAMS[name]
    model = model_record(torch["source"])
    return met_in_order(log_texts(torch["log"]), log_texts(model["log"]))
