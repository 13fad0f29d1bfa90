"""The comparison itself: a model that is wrong in one place must not pass."""

from __future__ import annotations

import copy
import math

from scripts.close import close
from tests import truth

FORUM = truth.stored()["programs"]["forum_cpu"]


def test_one_changed_key_set_is_seen() -> None:
    log = copy.deepcopy(FORUM["log"])
    log[3][4] ^= 1 << 34
    assert "-" in truth.difference("forum_cpu", truth.log_texts(FORUM["log"]), truth.log_texts(log))


def test_one_missing_step_is_seen() -> None:
    log = FORUM["log"]
    assert truth.difference("forum_cpu", truth.log_texts(log), truth.log_texts(log[:-1]))
    assert not truth.difference("forum_cpu", truth.log_texts(log), truth.log_texts(log))


def test_a_changed_edge_or_order_is_seen() -> None:
    for change in ("edges", "order"):
        graphs = copy.deepcopy(FORUM["graphs"])
        if change == "edges":
            graphs[0]["nodes"][1]["edges"][1] = [2, 0]
        else:
            graphs[0]["order"].reverse()
        assert truth.graph_texts(graphs) != truth.graph_texts(FORUM["graphs"])


def test_numbers_are_compared_within_rounding() -> None:
    assert close([1.0, math.nan], [1.0 + 1e-7, math.nan])
    assert not close(1.0, 1.0001)
    assert not close(1, 1.0)
    assert not close({"x": [1.0]}, {"x": [1.0, 2.0]})
