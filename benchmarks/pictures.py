"""The duration of commands that draw, in seconds, and relative to opening the same trace in a separate Python.

    python -m benchmarks.pictures

The traces are a chain of 1,000 additions and transformers of 4,232, 5,000 and 50,000 Nodes. Each command is a process
of its own. They alternate, and the smallest of the rounds counts, because the drawing library is compiled in the first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sizes import judge, often
from dispatchviz.core.record.trace_file import Trace
from tests.graphs import GraphTape, chain

ROUNDS = often(5)

READ = "import sys, dispatchviz; dispatchviz.load(sys.argv[1])"
"""The code that only opens a trace, as every command must."""

START = "import sys; from dispatchviz.cli import main; sys.exit(main())"
"""The code of the installed script."""

BARS = {
    "chain of 1,000, folded, s": 1.0,
    "chain of 1,000, whole, s": 1.2,
    "transformer of 4,232 Nodes, whole, s": 9.0,
    "transformer of 5,000 Nodes, folded, s": 3.0,
    "transformer of 50,000 Nodes, folded, s": 2.0,
}
"""The bars in seconds for the whole command."""


def transformer(layers: int) -> Trace:
    """Return a trace with about 46 Nodes a layer: attention of one head, a residual, two linear layers, a residual."""
    tape = GraphTape()
    [x] = tape.op("EmbeddingBackward0", tape.leaf("embedding"))
    for _ in range(layers):
        [h] = tape.op("NativeLayerNormBackward0", x, tape.leaf(), tape.leaf(), names=("input", "weight", "bias"))
        query, key, value = (_linear(tape, h) for _ in range(3))
        [key] = tape.op("TransposeBackward0", key)
        [scores] = tape.op("BmmBackward0", query, key, saved=[query, key], names=("self", "mat2"))
        [scores] = tape.op("SoftmaxBackward0", scores, saved=[scores])
        [h] = tape.op("BmmBackward0", scores, value, saved=[scores, value], names=("self", "mat2"))
        [x] = tape.op("AddBackward0", x, _linear(tape, h))
        [h] = tape.op("NativeLayerNormBackward0", x, tape.leaf(), tape.leaf(), names=("input", "weight", "bias"))
        [h] = tape.op("GeluBackward0", _linear(tape, h))
        [x] = tape.op("AddBackward0", x, _linear(tape, h))
    tape.backward(x)
    return tape.trace(program="transformer.py", sources={})


def _linear(tape: GraphTape, x: int) -> int:
    [weight] = tape.op("TBackward0", tape.leaf())
    [flat] = tape.op("ViewBackward0", x)
    [y] = tape.op("AddmmBackward0", tape.leaf(), flat, weight, names=("self", "mat1", "mat2"))
    return tape.op("ViewBackward0", y)[0]


def main() -> int:
    """Print seconds and ratios. Return exit status 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        layers = {"4k": often(92, 4), "5k": often(98, 5), "50k": often(980, 6)}
        sizes = {"chain": chain(often(1000, 20)), **{name: transformer(many) for name, many in layers.items()}}
        for name, trace in sizes.items():
            trace.save(Path(folder, f"{name}.dvtrace"))
        files = dict(zip(BARS, ("chain", "chain", "4k", "5k", "50k"), strict=True))
        results = {name: _seconds(name, Path(folder, f"{file}.dvtrace")) for name, file in files.items()}
    return judge(results, BARS)


def _seconds(name: str, file: Path) -> float:
    """Return the seconds of the command that draws a trace. Print the ratio to opening it."""
    export = ["export", str(file), "-o", str(file.with_suffix(".svg")), *["--no-fold"] * ("whole" in name)]
    commands = {"open": [sys.executable, "-c", READ, str(file)], "draw": [sys.executable, "-c", START, *export]}
    found = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for which, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            found[which] = min(found[which], time.perf_counter() - begin)
    opened, drawn = found["open"], found["draw"]
    print(f"  {name.removesuffix(', s')}: opened {opened:.2f} s, drawn {drawn:.2f} s, {drawn / opened:.1f} times that")
    return drawn


if __name__ == "__main__":
    sys.exit(main())
