"""The comparison itself: a model that is wrong in one place must not pass."""

from __future__ import annotations

import copy
import math

from truth import records
from truth.compare import close, close_text, difference
from truth.readable import graph_texts, log_texts

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


def test_what_is_printed_is_compared_within_rounding() -> None:
    assert close_text("loss 1.1863722801208496\n", "loss 1.1863723993301392\n")
    assert not close_text("loss 1.1863722801208496\n", "loss 1.1864\n")
    assert close_text("[0.004154205322265625]", "[0.004150390625]")  # half precision
    assert not close_text("[0.004154205322265625]", "[0.0054931640625]")
    assert not close_text("[70000.5, 0.004154205322265625]", "[70000.5, 0.004150390625]")
    assert not close_text("a 1.0", "b 1.0")
    assert not close_text("1.0", "1.0 2.0")
    assert not close_text("turn 1", "turn 2")
