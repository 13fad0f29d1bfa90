"""Keys in the order in which they were typed. Each one takes effect before the next one, from the first key on.

Textual hands a key to the focused widget and handles it later. Meanwhile the next key is delivered, so keys after one
that opens a question would be lost or out of order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from textual import events

from dispatchviz.views.keymap import prefixes

if TYPE_CHECKING:
    from dispatchviz.tui.widgets.prompt import Prompt

TYPED_AHEAD = "ctrl+j"
"""The key of an Enter that was typed before the stepper controlled the terminal, which then turned it into a line
feed.
"""


class TypedKeys:
    """The keys on their way to the open question or to their action. ``prompt`` is None until keys can be handled.

    ``actions`` are the actions of keys while no question is open and nothing is over the screen.
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
        """Set the keys of the actions."""
        self._actions, self._prefixes = actions, prefixes(set(actions))
        self._begun = ""
        """The first key of a sequence, until the next one comes."""

    def hold(self, event: events.Key | events.Paste) -> bool:
        """Store input that arrives before keys can be handled. Return whether it was stored."""
        if self._prompt() is None:
            self._held.append(event)
            return True
        return False

    def release(self) -> list[events.Key | events.Paste]:
        """Return the stored input and clear it."""
        held, self._held = self._held, []
        return held

    async def take(self, event: events.Key | events.Paste) -> bool:
        """Handle a key. Return False for a key without an effect here."""
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
