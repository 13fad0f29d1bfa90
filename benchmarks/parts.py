"""Recording parts of programs on a real PyTorch (``--only``), compared with the plain run of each program.

    python -m benchmarks.parts [--quick]

Each program measures its own processor time and prints it, so imports and writing the trace do not count. It prints two
times: of everything, and of the rest, which the part does not include. In the rows that begin with "in each", the part
runs in each iteration, and the rest is another network that the program trains beside it. In all others the part runs
in the first iterations, and the rest is those from the tenth on. Plain runs and recordings alternate in one process. A
printed ratio is the smallest one of the rounds. The programs run at one and at ten times their size.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dispatchviz.core.record.event_filter import read_only
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run

QUICK = "--quick" in sys.argv
ROUNDS = 1 if QUICK else 3
SIZES = (1,) if QUICK else (1, 10)

ADDS = """
import time, torch
torch.set_num_threads(1)
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
whole = time.process_time() - begin
print(whole, whole)
"""

TRAINING = """
import time, torch
torch.set_num_threads(1)
from torch import nn
torch.manual_seed(0)
net = NETWORK
x = INPUT
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(many):
    y = x.exp()
    begin = time.process_time()
    for i in range(many):
        if i == 10:
            rest = time.process_time()
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
    end = time.process_time()
    print(end - begin, end - rest)
train(MANY * SIZE)
"""

BESIDE = """
import ast, inspect, time, torch
torch.set_num_threads(1)
from torch import nn
torch.manual_seed(0)
class Watched(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = NETWORK
    def forward(self, x):
        return self.net(x)
watched = Watched()
beside = NETWORK
x = INPUT
optimizers = {net: torch.optim.SGD(net.parameters(), lr=0.1) for net in (watched, beside)}
def train(model):
    optimizers[model].zero_grad()
    model(x).square().mean().backward()
    optimizers[model].step()
other_work = inspect.getsource(ast)
clock = time.process_time
part = rest = 0.0
for i in range(MANY * SIZE):
    begin = clock()
    train(watched)
    part += clock() - begin
    ast.parse(other_work)
    begin = clock()
    train(beside)
    rest += clock() - begin
print(part + rest, rest)
"""
"""With other work in each iteration, plain or recorded: after any such work the processor's caches are cold, and the
network beside takes twice as long.
"""


class Network(NamedTuple):
    """A network of a program."""

    made: str
    """The expression that makes it."""
    given: str
    """The expression of its input."""
    many: int
    """The number of iterations at size 1."""
    module: str
    """A module of it."""

    def program(self, text: str) -> str:
        """Return a program with this network."""
        filled = text.replace("NETWORK", self.made).replace("INPUT", self.given)
        return filled.replace("MANY", str(self.many))


NETWORKS = {
    "MLP": Network(
        "nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))",
        "torch.randn(4, 8)",
        100,
        "0",
    ),
    "transformer": Network(
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)",
        "torch.randn(4, 16, 32)",
        20,
        "layers.0.linear1",
    ),
}
CONDITIONS = {"op": "op=exp", "line": "line=LINE", "call": "call=3", "op and call": "op=mul,call=1"}
IN_LOOP = {"iterations": "iteration=3-5", "module and iterations": "module=net.MODULE,iteration=3-5"}


class Seconds(NamedTuple):
    """The processor times that a program measures, or their ratios."""

    whole: float
    rest: float


def seconds(printed: str) -> Seconds:
    """Return the two times that a program printed."""
    return Seconds(*map(float, printed.split()))


def plain(path: Path) -> Seconds:
    """Return the times of a program without a recording."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    return seconds(written.getvalue())


def recorded(path: Path, engine: Any, condition: str) -> Seconds:
    """Return the times of a program of which a part is recorded; an empty condition records everything."""
    written = io.StringIO()
    outcome = run(str(path), (), written, engine=engine, only=read_only([condition]) if condition else None)
    if outcome.error is not None:
        raise outcome.error
    return seconds(written.getvalue())


def ratios(path: Path, engine: Any, condition: str) -> Seconds:
    """Return the smallest ratios of a recording to the plain run before it."""
    pairs = [(plain(path), recorded(path, engine, condition)) for _ in range(ROUNDS)]
    return Seconds(
        min(with_recorder.whole / without.whole for without, with_recorder in pairs),
        min(with_recorder.rest / without.rest for without, with_recorder in pairs),
    )


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield a name, a program and a condition for each row; an empty condition records everything."""

    def of(name: str, text: str, conditions: dict[str, str], module: str = "") -> Iterator[tuple[str, str, str]]:
        line = [each.strip() for each in text.strip().splitlines()].index("y = x.exp()") + 1
        for what, condition in {"everything": "", **conditions}.items():
            yield f"{name:12} {what}", text, condition.replace("LINE", str(line)).replace("MODULE", module)

    yield from of("adds", ADDS, CONDITIONS)
    for name, network in NETWORKS.items():
        yield from of(name, network.program(TRAINING), CONDITIONS | IN_LOOP, network.module)
        yield f"{name:12} in each iteration: module", network.program(BESIDE), f"module=watched.net.{network.module}"


def main() -> int:
    """Print a row for each program and part. Without PyTorch, say so."""
    try:
        engine = engine_named("torch")
    except DispatchvizError as error:
        print(error)
        return 0
    columns = "  ".join(f"{f'{size} x size':>10}  {'the rest':>10}" for size in SIZES)
    print(f"{'':42} {columns}   (1.0: the plain run)")
    with tempfile.TemporaryDirectory() as folder:
        for at, (name, text, condition) in enumerate(list(rows())[: 2 if QUICK else None]):
            found = []
            for size in SIZES:
                path = Path(folder, f"program_{at}_{size}.py")
                path.write_text(text.strip().replace("SIZE", str(size)))
                plain(path)
                found += ratios(path, engine, condition)
            print(f"{name:42} {'  '.join(f'{ratio:10.2f}' for ratio in found)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
