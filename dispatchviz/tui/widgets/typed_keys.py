"""Keys in the order in which they were typed, each with its effect before the next one comes, from the first one on.

Textual hands a key to the widget with the focus and takes it back later; meanwhile the next key goes its way, and where
a key opens a question the ones behind it would be lost or out of order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from textual import events

from dispatchviz.views.keymap import prefixes

if TYPE_CHECKING:
    from dispatchviz.tui.widgets.prompt import Prompt

TYPED_AHEAD = "ctrl+j"
"""What Enter is when it was typed before the terminal was ours: until then a terminal makes a line feed of it."""


class TypedKeys:
    """Keys on their way to the open question or to their action. ``prompt`` is None until keys can be answered.

    ``actions``: what a key does while no question is open and nothing is over the screen.
    """

    def __init__(
        self,
        prompt: Callable[[], Prompt | None],
        run: Callable[[str], Awaitable[bool]],
        actions: Mapping[str, str],
    ) -> None:
        self._prompt, self._run = prompt, run
        self.bind(actions)
        self._held: list[events.Key | events.Paste] = []

    def bind(self, actions: Mapping[str, str]) -> None:
        """Other keys for actions, or the first ones."""
        self._actions, self._prefixes = actions, prefixes(set(actions))
        self._begun = ""
        """The first key of a sequence, until the next one comes."""

    def hold(self, event: events.Key | events.Paste) -> bool:
        """Keep what is typed before keys can be answered; return whether it did."""
        if self._prompt() is None:
            self._held.append(event)
            return True
        return False

    def release(self) -> list[events.Key | events.Paste]:
        """What was kept, which then is no longer."""
        held, self._held = self._held, []
        return held

    async def take(self, event: events.Key | events.Paste) -> bool:
        """Give a key its effect; False for a key that has none here."""
        prompt = self._prompt()
        if prompt is not None and prompt.question is None:
            prompt = None
        if isinstance(event, events.Paste):
            if prompt is not None:
                prompt.paste(event.text)
            return prompt is not None
        if prompt is not None:
            return await prompt.take(event)
        return await self._act(event.key)

    async def _act(self, key: str) -> bool:
        begun, self._begun = self._begun, ""
        action = self._actions.get(f"{begun} {key}".strip())
        if begun and action is None:
            return await self._run(f"no_target({begun!r}, {key!r})")
        if action is None and key in self._prefixes:
            self._begun = key
            return await self._run(f"targets({key!r})")
        return action is not None and await self._run(action)
