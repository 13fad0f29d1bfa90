"""Tests that no key loads code once the first screen is complete, and that keys do not collect all garbage."""

from __future__ import annotations

import gc
import subprocess
import sys

from dispatchviz.foundation.garbage_collection import BY_CLOCK

from .screens import stepper
from .synthetic import forum

KEYS = """
import asyncio, sys
from tests.tui.screens import stepper
from tests.tui.synthetic import forum
from dispatchviz.tui.loaded_ahead import load_ahead
PRESSED = (*"sssssnncSSNCG", "home", *"ss", "right", "left", *"234567890KATOMF1EE", "tab", "tab", "escape",
           *"iwVvHYBh?", "m", "enter", "apostrophe", "escape", "f1")
async def main():
    async with stepper(forum(), (200, 60)) as reader:
        reader.app.view.loads_ahead.join()
        before = set(sys.modules)
        for key in PRESSED:
            await reader.press(key)
            if reader.app.screen is not reader.app.view:
                await reader.press("escape")
            if more := {name for name in set(sys.modules) - before if name.startswith("dispatchviz")}:
                print(key, *sorted(more))
                before |= more
asyncio.run(main())
"""


def test_no_key_loads_code() -> None:
    done = subprocess.run([sys.executable, "-c", KEYS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


async def test_keys_do_not_collect_all_garbage() -> None:
    before = gc.get_threshold()
    async with stepper(forum()) as reader:
        await reader.press("s")
        assert gc.get_threshold() == BY_CLOCK
        assert gc.get_freeze_count()
    assert gc.get_threshold() == before
