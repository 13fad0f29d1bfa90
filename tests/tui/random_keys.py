"""A reader who presses random keys, types answers, clicks and resizes the terminal, from a seed.

    python -m tests.tui.random_keys --keys 20000 --seed 1

A crash of the stepper or the home screen is raised here with the last actions. The same seed repeats it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from textual import events
from textual.keys import _character_to_key

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.home.home_keymap import HOME_KEYMAP
from dispatchviz.views.keymap import KEYMAP
from dispatchviz.views.session import Session

from .odd_answers import ODD_ANSWERS
from .screens import Reader, home, stepper_of
from .synthetic import awkward, big, forum, raising

ENDS = ("q", "ctrl+q")
"""The keys that end the stepper; another one is opened then."""

SLOW = ("o",)
"""The key that draws a picture, which is not tested here."""

KEYS = tuple(
    key
    for entry in KEYMAP
    for keys in entry.keys
    for key in keys.split()
    if key not in (*ENDS, *SLOW, "ctrl+p", "ctrl+z")
)

ASKING = ("colon", "slash", "b", "f", "m")

HOME = "home"
HOME_KEYS = (*KEYS, *(key for entry in HOME_KEYMAP for key in entry.keys if key not in (*ENDS, "ctrl+p", "ctrl+z")))
"""The keys of the home screen, and stepper keys that a reader may press there."""

HOME_ASKING = ("slash", "o", "t", "w", "k", "c")

OTHER_KEYS = (
    *("x", "Z", "ä", "日", "j", "k", "9", "0", "space", "insert", "delete", "f5", "f12", "alt+x", "shift+up"),
    *("ctrl+@", "ctrl+a", "ctrl+c", "ctrl+d", "ctrl+j", "ctrl+k", "ctrl+w", "ctrl+left", "ctrl+right"),
)
"""The keys that do nothing in the step list, or only something in a prompt."""

CHARACTERS = {
    key: character for character in map(chr, range(32, 127)) if (key := _character_to_key(character)) != character
}
"""The characters of named keys."""

SIZES = ((80, 24), (120, 40), (200, 60), (60, 15), (59, 15), (60, 14), (1, 1), (2, 50), (300, 3), (400, 120))

REMEMBERED = 30
"""The number of last actions to report after a crash."""


class RandomReader:
    """A reader who does random things in the stepper, or in another screen with its own keys."""

    def __init__(
        self, reader: Reader, chance: random.Random, keys: Sequence[str] = KEYS, asking: Sequence[str] = ASKING
    ) -> None:
        self._reader, self._chance, self._keys, self._asking = reader, chance, keys, asking
        self.done: deque[str] = deque(maxlen=REMEMBERED)
        self.keys = 0
        self._acts: Mapping[Callable[[], object], int] = {
            self.presses: 60, self.answers: 20, self.clicks: 6, self.scrolls: 4, self.resizes: 3,
            self.presses_others: 5, self.uses_the_palette: 1, self.loses_focus: 1,
        }  # fmt: skip

    async def acts(self) -> None:
        """Perform one random action."""
        await self._chance.choices(list(self._acts), list(self._acts.values()))[0]()  # type: ignore[misc]

    async def presses(self) -> None:
        """Press some keys of the keymap."""
        await self._press(*self._chance.choices(self._keys, k=self._chance.randint(1, 8)))

    async def presses_others(self) -> None:
        await self._press(*self._chance.choices(OTHER_KEYS, k=self._chance.randint(1, 4)))

    async def answers(self) -> None:
        """Open a question and answer it, by keys or by pasting, and leave it in some way."""
        await self._press("escape", self._chance.choice(self._asking))
        text = self._chance.choice(ODD_ANSWERS)
        if self._chance.random() < 0.3:
            text += self._chance.choice(ODD_ANSWERS)
        if len(text) < 40 and self._chance.random() < 0.6:
            await self._press(*map(_character_to_key, text))
        else:
            self._note("pastes", text)
            self._reader.app.post_message(events.Paste(text))
            await self._answered()
        for _ in range(self._chance.randint(0, 3)):
            await self._press(self._chance.choice(("left", "backspace", "home", "end", "delete", "ctrl+w", "9", "-")))
        await self._press(self._chance.choice(("enter", "enter", "enter", "escape", "ctrl+j", "tab")))

    async def clicks(self) -> None:
        width, height = self._reader.app.size
        offset = self._chance.randrange(max(width, 1)), self._chance.randrange(max(height, 1))
        self._note("clicks", str(offset))
        await self._reader.pilot.click(offset=offset, times=self._chance.choice((1, 1, 2)))

    async def scrolls(self) -> None:
        width, height = self._reader.app.size
        x, y = self._chance.randrange(max(width, 1)), self._chance.randrange(max(height, 1))
        kind = self._chance.choice((events.MouseScrollUp, events.MouseScrollDown, events.MouseMove, events.MouseDown))
        self._note(kind.__name__, f"{x},{y}")
        for _ in range(self._chance.randint(1, 5)):
            await self._reader.pilot._post_mouse_events([kind], offset=(x, y))

    async def resizes(self) -> None:
        size = self._chance.choice((*SIZES, (self._chance.randint(1, 250), self._chance.randint(1, 80))))
        self._note("resizes", str(size))
        await self._reader.pilot.resize_terminal(*size)

    async def loses_focus(self) -> None:
        for event in (events.AppBlur(), events.AppFocus()):
            self._reader.app.post_message(event)
        await self._answered()

    async def uses_the_palette(self) -> None:
        await self._press("escape", "ctrl+p")
        await self._press(*map(_character_to_key, self._chance.choice(("the", "[/]", "sea", "col", "zzz", "--5"))))
        await self._press(self._chance.choice(("enter", "escape", "down")), "escape", "escape")

    async def _press(self, *keys: str) -> None:
        self.keys += len(keys)
        self._note("presses", " ".join(keys))
        for key in keys:
            self._reader.app.post_message(events.Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))
        await self._answered()

    async def _answered(self) -> None:
        """Wait until the stepper has handled all input, or has ended."""
        done, app = asyncio.Event(), self._reader.app
        app.call_later(done.set)
        while not done.is_set() and app._running:
            await asyncio.sleep(0)

    def _note(self, what: str, text: str) -> None:
        self.done.append(f"{what} {text[:60]!r}" + (f" of {len(text)}" if len(text) > 60 else ""))


TRACES: Mapping[str, Callable[[], Trace]] = {
    "forum": forum,
    "raising": raising,
    "brackets": lambda: awkward("[/] [a] f[N] \x1b[31m \u202e"),
    "long text": lambda: awkward("word日本 " * 5_000),
    "2,000 steps": lambda: big(2_000),
}


def press_random_keys(name: str, seed: int, keys: int, file: str = "", kept: Iterable[Path] = ()) -> int:
    """Use the stepper on a trace, or the home screen, until ``keys`` keys are pressed. Return the number of pressed
    keys. Raise RuntimeError if it crashed.
    """
    chance, pressed = random.Random(f"{name} {seed}"), 0
    while pressed < keys:
        pressed += asyncio.run(_one_session(name, chance, keys - pressed, file, kept, f"{name!r}, seed {seed}"))
    return pressed


async def _one_session(name: str, chance: random.Random, keys: int, file: str, kept: Iterable[Path], who: str) -> int:
    user: RandomReader | None = None
    size = chance.choice(SIZES)
    screen = home(*kept, size=size) if name == HOME else stepper_of(Session(TRACES[name](), None, file), size)
    try:
        async with screen as reader:
            user = (
                RandomReader(reader, chance, HOME_KEYS, HOME_ASKING) if name == HOME else RandomReader(reader, chance)
            )
            while user.keys < keys and reader.app._exit is False:
                await user.acts()
    except Exception as error:
        actions = "\n  ".join(user.done if user else ())
        raise RuntimeError(f"a crash on {who}: {error!r}\n  {actions}") from error
    return user.keys + 1


def main() -> int:
    """Test all traces and the home screen."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=20_000, help="over all traces")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("trace", nargs="*", default=[*TRACES, HOME], help=", ".join([*TRACES, HOME]))
    given = parser.parse_args()
    for name in given.trace:
        pressed = press_random_keys(name, given.seed, given.keys // len(given.trace))
        print(f"{name}: {pressed:,} keys, no crash", flush=True)
    return 0


if __name__ == "__main__":
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # do not read stored layouts
        sys.exit(main())
