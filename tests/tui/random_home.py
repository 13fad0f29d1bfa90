"""A reader who does anything on the home screen, as ``random_keys.py`` does in the stepper, from a seed.

python -m tests.tui.random_home --keys 20000 --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dispatchviz.cli.looked_up import look_up
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_keymap import HOME_KEYMAP
from dispatchviz.views.keymap import KEYMAP

from .home_reader import began, home_with
from .random_keys import ENDS, SIZES, Anyone
from .screens import Reader

KEYS = tuple(
    key
    for entry in (*HOME_KEYMAP, *KEYMAP)
    for keys in entry.keys
    for key in keys.split()
    if key not in (*ENDS, "ctrl+p", "ctrl+z")
)
"""Its own, and those that a reader of the stepper has in the fingers."""

ASKING = ("slash", "o", "t", "w", "k", "c")


def tried(seed: int, keys: int, *traces: Path) -> int:
    """Uses the screen until so many keys are pressed; returns how many were. RuntimeError if it crashed."""
    chance, pressed = random.Random(f"home {seed}"), 0
    while pressed < keys:
        pressed += asyncio.run(_one_session(chance, keys - pressed, traces, f"seed {seed}"))
    return pressed


async def _one_session(chance: random.Random, keys: int, traces: tuple[Path, ...], who: str) -> int:
    app = HomeApp(home_with(*traces), look_up, lambda: home_with(*traces).traces)
    anyone: Anyone | None = None
    try:
        async with app.run_test(size=chance.choice(SIZES)) as pilot:
            reader = Reader(app, pilot)
            anyone = Anyone(reader, chance, KEYS, ASKING)
            await began(reader)
            while anyone.keys < keys and app._exit is False:
                await anyone.acts()
    except Exception as error:
        actions = "\n  ".join(anyone.done if anyone else ())
        raise RuntimeError(f"the home screen crashed, {who}: {error!r}\n  {actions}") from error
    return anyone.keys + 1


def main() -> int:
    """Tries it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"home: {tried(given.seed, given.keys):,} keys, no crash")
    return 0


if __name__ == "__main__":
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # layouts that are kept are nobody's
        sys.exit(main())
