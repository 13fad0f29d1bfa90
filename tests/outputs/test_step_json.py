"""Views as JSON: the same text as the plain views, with additional facts for programs."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.outputs.step.step_json import VALUES, encoded, step_json, view_json
from dispatchviz.outputs.step.step_text import LOG, view_names, view_text
from tests.cli.command import FORUM, dispatchviz
from tests.steps import step, steps
from tests.tui.programs import forum


def some_steps() -> list[int]:
    """Return one step of most kinds."""
    found = {type(event): event.seq for event in forum()}
    return sorted(found.values())


@pytest.mark.parametrize("name", [name for name in view_names() if name not in (LOG, "then-and-now", "because")])
def test_the_text_is_that_of_the_plain_view(name: str) -> None:
    for at in some_steps():
        made = json.loads(encoded(view_json(forum(), at, name)))
        assert "\n".join(line["text"] for line in made["lines"]) == view_text(forum(), at, name)
        for line in made["lines"]:
            assert "".join(span["text"] for span in line["spans"]) == line["text"]
            roles = [span["role"] for span in line["spans"]]
            assert all(role != after for role, after in pairwise(roles))


@pytest.mark.parametrize("name", ["then-and-now", "because"])
def test_long_views_have_the_same_text_too(name: str) -> None:
    at = steps(forum(), ev.KernelSelected)[0]
    made = view_json(forum(), at, name)
    assert "\n".join(line["text"] for line in made["lines"]) == view_text(forum(), at, name)


def test_the_log_is_that_from_the_step_on() -> None:
    at = step(forum(), ev.BackwardStarted)
    assert [line["text"] for line in view_json(forum(), at, LOG)["lines"]] == list(text_log(forum(), at))


def test_value_has_the_fields_of_the_views_card() -> None:
    at = step(forum(), ev.KeySetComputed)
    card = key_set_card(forum(), at)
    value = view_json(forum(), at, "key-set")["value"]
    assert set(value) == set(card.__struct_fields__)
    assert [row["title"] for row in value["rows"]] == [row.title for row in card.rows]
    assert set(VALUES) < set(view_names())


def test_lines_say_where_they_lead_and_what_they_are_about() -> None:
    at = step(forum(), ev.NodeCreated)
    lines = [line for view in step_json(forum(), at)["views"].values() for line in view["lines"]]
    assert any(line.get("goto") is not None for line in lines)
    kinds = {line["about"]["kind"] for line in lines if "about" in line}
    assert {"tensor", "node"} <= kinds


def test_the_event_has_its_fields_by_name() -> None:
    at = step(forum(), ev.KernelSelected)
    event = step_json(forum(), at, ["why"])["event"]
    assert event["kind"] == "KernelSelected"
    assert event["seq"] == at
    assert list(event) == ["kind", *forum()[at].__struct_fields__]


def test_unknown_view_is_refused() -> None:
    with pytest.raises(DispatchvizError, match="there is no view 'cells', did you mean cell"):
        view_json(forum(), 0, "cells")


@pytest.mark.long
def test_command_prints_the_same_json(tmp_path: object) -> None:
    one = dispatchviz("run", "--step", "45", "--view", "cell", "--json", FORUM)
    assert (one.status, one.err) == (0, "")
    assert list(json.loads(one.out)["views"]) == ["cell"]
    everything = dispatchviz("run", "--step", "45", "--json", FORUM)
    assert list(json.loads(everything.out)["views"]) == [name for name in view_names() if name != LOG]
