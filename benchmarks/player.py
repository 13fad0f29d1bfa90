"""The HTML player: the size of pages, and the time to make, open and step them in a headless Chromium.

    python -m benchmarks.player

It uses the founding program and a training loop of 100,000 steps. A step is measured from the key until it is drawn,
including layout. The median and the slowest in twenty of some hundred steps over the whole trace count.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sizes import judge, often
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.running.program import run
from tests.outputs.page.browser import CHROMIUM, Page, browser

ROOT = Path(__file__).parent.parent

ITERATIONS = often(78, 2)
"""Iterations of the training loop, for 100,000 steps."""

LOOP = f"""\
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(16, 4)
y = x.sum(1, keepdim=True)
for step in range({ITERATIONS}):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
"""

STEPS = """(() => {
    const took = [], by = Math.max(1, Math.floor(last() / 40));
    for (let from = 0; from < last(); from += by) {
        act(() => goTo(from));
        for (const move of ["into", "into", "over"]) {
            const begin = performance.now();
            act(MOVES[move]);
            document.body.offsetHeight;
            took.push(performance.now() - begin);
        }
    }
    took.sort((a, b) => a - b);
    return [took[took.length >> 1], took[Math.floor(took.length * 0.95)]];
})()"""

BARS = {
    "founding program, KB": 155,
    "founding program, open, s": 1.5,
    "founding program, step, ms": 30,
    "founding program, slow step, ms": 100,
    "training loop, MB": 2,
    "training loop, ms to make a step": 0.12,
    "training loop, open, s": 1.5,
    "training loop, step, ms": 30,
    "training loop, slow step, ms": 100,
}


def main() -> int:
    if CHROMIUM is None:
        print("  there is no Chromium to measure with")
        return 0
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        results = {**_founding(page, Path(folder)), **_loop(page, Path(folder))}
    return judge(results, BARS)


def _founding(page: Page, folder: Path) -> dict[str, float]:
    made = player_page(run(str(ROOT / "examples" / "forum.py")).trace)
    return {"founding program, KB": len(made) / 1000, **_opened(page, folder, "founding program", made)}


def _loop(page: Page, folder: Path) -> dict[str, float]:
    script = folder / "loop.py"
    script.write_text(LOOP)
    trace: Trace = run(str(script)).trace
    begin = time.process_time()
    made = player_page(trace)
    each = (time.process_time() - begin) / len(trace) * 1000
    sizes = {"training loop, MB": len(made) / 1e6, "training loop, ms to make a step": each}
    return {**sizes, **_opened(page, folder, "training loop", made)}


def _opened(page: Page, folder: Path, name: str, made: bytes) -> dict[str, float]:
    path = folder / "page.html"
    path.write_bytes(made)
    page.size(1400, 900)
    page.open(path.as_uri())
    opened = float(page.evaluate("document.documentElement.dataset.opened")) / 1000
    median, slow = page.evaluate(STEPS)
    return {f"{name}, open, s": opened, f"{name}, step, ms": median, f"{name}, slow step, ms": slow}


if __name__ == "__main__":
    sys.exit(main())
