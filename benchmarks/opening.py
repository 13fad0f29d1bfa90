"""Opening long traces in the stepper: first screen, memory, stepping and search, compared with a trace of 1,000 steps.

    python -m benchmarks.opening

The traces are of the same training loop. First screens alternate, each in a process of its own on a pseudo terminal of
120x40; the median of each trace counts. A freeze is the time for which the screen's thread does not respond, measured
as its processor time between two ticks of a timer of two milliseconds. The first hit is in processor time too.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.sizes import judge, often
from benchmarks.tui import STEPPER, Terminal, recorded

if TYPE_CHECKING:
    from dispatchviz.tui.app import StepperApp

ROUNDS = often(7, 1)
LONG = often(891, 4)
"""Iterations of the loop in the long trace, for a million steps."""
KEYS = ("s", "s", "n", "c", "c", "G", "S", "g", "6", "1", "G")
FIRST_HITS = ("tanh", "nodecreated", "at_the_end")
"""The searches: a name that is near, a kind, and a variable that only the last steps have."""
PAUSE = 0.002
BARS = {
    "first screen, of a trace of 1,000 steps": 1.9,
    "memory at the first screen, MB": 120,
    "longest freeze of a key, s": 0.05,
    "first hit of a search, s": 0.2,
    "longest freeze of a search, s": 0.05,
}


def opened(trace: Path) -> tuple[float, float]:
    """Return the seconds to the first screen, and the peak memory of the process until then in MB."""
    terminal = Terminal(STEPPER, str(trace))
    try:
        seconds = terminal.until(b"q quit", 120) - terminal.started
        time.sleep(1)  # memory includes the work on the screen after the steps
        return seconds, terminal.peak() / 1024
    finally:
        terminal.close()


class Beat:
    """A short timer that notes its longest delay."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Tick until it is cancelled."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(PAUSE)
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now


@contextmanager
def beating() -> Iterator[Beat]:
    """Run a beat during the block."""
    beat = Beat()
    task = asyncio.get_running_loop().create_task(beat.run())
    try:
        yield beat
    finally:
        task.cancel()


async def used(path: Path) -> dict[str, float]:
    """Return the cost of keys and searches on a trace."""
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.tui.app import StepperApp
    from dispatchviz.views.session import Session

    app = StepperApp(Session(Trace.load(path), 0))
    gc.freeze()  # as the stepper does, before it runs
    async with app.run_test(size=(120, 40)) as pilot:
        await asyncio.sleep(1)
        with beating() as keys:
            for key in KEYS:
                await pilot.press(key)
                await asyncio.sleep(0.1)
        with beating() as searching:
            hits = [await first_hit(app, query) for query in FIRST_HITS]
    return {
        "longest freeze of a key, s": keys.longest,
        "first hit of a search, s": max(hits),
        "longest freeze of a search, s": searching.longest,
    }


async def first_hit(app: StepperApp, query: str) -> float:
    """Return the seconds until a search has moved the reader to a hit. The search then continues for a while."""
    from dispatchviz.tui.questions.typed_questions import SearchQuestion
    from dispatchviz.views.session import Update

    app.show(Update(app.session.cursor.first()))
    begin, question = app.session.cursor.at, SearchQuestion(app.session)
    start = time.process_time()
    app.show(question.typed(query))
    while app.session.cursor.at == begin:
        await asyncio.sleep(PAUSE)
    found = time.process_time() - start
    await asyncio.sleep(1)
    return found


def main() -> int:
    """Print the numbers and return 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = (recorded(Path(folder), iterations) for iterations in (1, LONG))
        rounds = [(opened(short), opened(long)) for _ in range(ROUNDS)]
        of_short, of_long = (statistics.median(seconds for seconds, _ in each) for each in zip(*rounds, strict=True))
        print(f"  first screen: {of_short:.2f} s of the short trace, {of_long:.2f} s of the long one")
        results = {
            "first screen, of a trace of 1,000 steps": of_long / of_short,
            "memory at the first screen, MB": max(memory for _, (_, memory) in rounds),
            **asyncio.run(used(long)),
        }
    return judge(results, BARS)


if __name__ == "__main__":
    sys.exit(main())
