"""Tests that keys take effect in the order in which they were typed, however early and fast."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.widget import Widget

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.testing import redispatch
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views.session import Session
from tests.steps import step

from .screens import Reader, stepper
from .synthetic import forum


def key(character: str) -> events.Key:
    """A key as a terminal sends it before the stepper controls it: Enter is a line feed."""
    return events.Key("ctrl+j" if character == "\n" else _character_to_key(character), character)


def typed_early(before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> StepperApp:
    """The application after keys that were typed before its first screen was complete, and others right after."""
    make, app = StepperScreen.make_prompt, StepperApp(Session(forum()))
    sent: list[asyncio.Event] = []

    async def with_keys(self: StepperScreen, home: Widget) -> None:
        await send(before)
        await make(self, home)
        await send(after)
        sent[0].set()

    async def send(text: str) -> None:
        for character in text:
            app.post_message(key(character))
        await asyncio.sleep(0)

    async def story() -> None:
        sent.append(asyncio.Event())
        async with app.run_test(size=(120, 40)) as pilot:
            await sent[0].wait()
            await Reader(app, pilot).answered()

    monkeypatch.setattr(StepperScreen, "make_prompt", with_keys)
    asyncio.run(story())
    return app


@pytest.mark.parametrize("split", range(6))
def test_input_before_the_first_screen_is_handled_first(split: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, opened_at = ":37\nss", Session(forum()).cursor.at
    app = typed_early(keys[:split], keys[split:], monkeypatch)
    steps = list(app.session.cursor.shown or ())
    assert app.session.cursor.at == [step for step in steps if step > 37][1]
    assert app.session.cursor.past == (opened_at,)


def test_search_typed_before_the_first_screen_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typed_early("/nodecreated\n.", ".", monkeypatch)
    assert (app.session.search.query, app.session.cursor.at) == ("nodecreated", step(forum(), NodeCreated, 2))


async def test_fast_keys_are_handled_in_order() -> None:
    found = step(forum(), redispatch())
    async with stepper(forum()) as reader:
        await reader.press_at_once(":37\ns:12\ns")
        assert (reader.at, reader.app.session.cursor.past) == (13, (0, 38))
        await reader.press_at_once("/redispatch\nmhere\nf/\n")
        assert (reader.at, reader.app.session.marks.names) == (found, {found: "here"})
        await reader.press_at_once("ssSm\n2")
        assert (reader.at, reader.app.view.focused.number) == (found + 1, 2)


async def test_input_line_handles_keys_in_order_and_pasted_text() -> None:
    async with stepper(forum()) as reader:
        for name, character in [
            ("colon", ":"), ("1", "1"), ("9", "9"), ("backspace", None), ("home", None), ("2", "2"), ("end", None),
            ("left", None), ("delete", None), ("4", "4"), ("enter", None), ("s", "s"),
        ]:  # fmt: skip
            reader.app.post_message(events.Key(name, character))
        await reader.answered()
        assert reader.at == 25
        for event in (events.Paste("99"), key(":"), events.Paste("37\nq"), key("\n")):
            reader.app.post_message(event)
        await reader.answered()
        assert reader.at == 37
        assert reader.app.is_running


async def test_a_text_over_the_stepper_takes_its_own_keys() -> None:
    async with stepper(forum()) as reader:
        await reader.press_at_once("?")
        assert reader.sees("Help")
        await reader.press("q")
        await reader.press_at_once("ss")
        assert reader.at == 2


@pytest.mark.parametrize("split", range(3))
def test_keys_after_one_that_opens_a_text_go_to_that_text(split: int, monkeypatch: pytest.MonkeyPatch) -> None:
    app = typed_early("?q"[:split], "?q"[split:], monkeypatch)
    assert app.return_code is None, "q has closed the help, not the stepper"
