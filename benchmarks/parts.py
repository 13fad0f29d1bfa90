"""Recording parts of programs on a real PyTorch (``--only``), compared with the plain run of each program.

    python -m benchmarks.parts [--quick]

Each program measures the processor time of its own loop and prints it, so imports and writing the trace do not count.
Plain runs and recordings alternate in one process. The printed ratio is the smallest one of the rounds. In the rows
that begin with "in each", the part runs in each iteration, and what is recorded costs as much as in a whole recording.
In all others it runs at the beginning, and the ratio shows the cost for the rest of the program. The programs run at
one and at ten times their size.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from dispatchviz.core.record.event_filter import read_only
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run

QUICK = "--quick" in sys.argv
ROUNDS = 1 if QUICK else 3
SIZES = (1,) if QUICK else (1, 10)

ADDS = """
import time, torch
x = torch.ones(2, 2, requires_grad=True)
def adds(many):
    y = x.exp()
    z = x * y
    for i in range(many):
        z = z + x
    z.sum().backward()
adds(10)
begin = time.process_time()
adds(1000 * SIZE)
print(time.process_time() - begin)
"""

TRAINING = """
import time, torch
from torch import nn
torch.manual_seed(0)
NETWORK
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(many):
    y = x.exp()
    for i in range(many):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
train(2)
begin = time.process_time()
train(MANY * SIZE)
print(time.process_time() - begin)
"""

MLP = """net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
x = torch.randn(4, 8)"""
TRANSFORMER = """layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
net = nn.TransformerEncoder(layer, 2)
x = torch.randn(4, 16, 32)"""

FIRST = {"line": "line=LINE", "op": "op=exp", "call": "call=3", "op and call": "op=mul,call=1"}
PARTS = {**FIRST, "iterations": "iteration=3-5", "module and iterations": "module=MODULE,iteration=3-5"}
PROGRAMS = {
    "adds": (ADDS, FIRST),
    "MLP": (
        TRAINING.replace("NETWORK", MLP).replace("MANY", "100"),
        {**PARTS, "in each iteration: module": "module=MODULE"},
    ),
    "transformer": (
        TRAINING.replace("NETWORK", TRANSFORMER).replace("MANY", "20"),
        {**PARTS, "in each iteration: module": "module=MODULE"},
    ),
}
"""The programs by name, each with conditions by name."""
MODULES = {"MLP": "net.0", "transformer": "layers.0.linear1"}


def plain(path: Path) -> float:
    """Return the seconds of a program without a recording."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    return float(written.getvalue())


def recorded(path: Path, engine: Any, condition: str) -> float:
    """Return the seconds of a program of which a part is recorded; an empty condition records everything."""
    written = io.StringIO()
    outcome = run(str(path), (), written, engine=engine, only=read_only([condition]) if condition else None)
    if outcome.error is not None:
        raise outcome.error
    return float(written.getvalue())


def ratio(path: Path, engine: Any, condition: str) -> float:
    """Return the smallest ratio of a recording to the plain run before it."""
    pairs = ((plain(path), recorded(path, engine, condition)) for _ in range(ROUNDS))
    return min(with_recorder / without for without, with_recorder in pairs)


def conditions(name: str, text: str) -> dict[str, str]:
    """Return the conditions of a program by name, and first the empty one of a whole recording."""
    line = text.strip().splitlines().index("    y = x.exp()") + 1
    filled = PROGRAMS[name][1].items()
    found = {key: one.replace("LINE", str(line)).replace("MODULE", MODULES.get(name, "")) for key, one in filled}
    return {"everything": "", **({"op": found["op"]} if QUICK else found)}


def main() -> int:
    """Print a row for each program and part. Without PyTorch, say so."""
    try:
        engine = engine_named("torch")
    except DispatchvizError as error:
        print(error)
        return 0
    print(f"{'':42} {'  '.join(f'{size:3} x size' for size in SIZES)}   (1.0: the plain run)")
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, _) in list(PROGRAMS.items())[: 1 if QUICK else None]:
            paths = [Path(folder, f"{name}_{size}.py") for size in SIZES]
            for path, size in zip(paths, SIZES, strict=True):
                path.write_text(text.strip().replace("SIZE", str(size)))
                plain(path)
            for what, condition in conditions(name, text).items():
                ratios = "  ".join(f"{ratio(path, engine, condition):10.2f}" for path in paths)
                print(f"{name:12} {what:29} {ratios}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
