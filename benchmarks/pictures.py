"""How long whole commands that draw take, beside reading the same trace in a Python of its own.

    python -m benchmarks.pictures

A chain of 1,000 additions and transformers of 5,000 and 50,000 Nodes, as saved traces. Each command is a process of its
own; they take turns, and the smallest of the rounds counts.
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
"""What every command has to do first."""

START = "import sys; from dispatchviz.cli import main; sys.exit(main())"
"""What the installed script does."""

BARS = {
    "chain of 1,000, folded": 2.5,
    "chain of 1,000, whole": 6.0,
    "transformer of 5,000 Nodes, folded": 3.0,
    "transformer of 50,000 Nodes, folded": 3.0,
}
"""Times what reading the trace takes."""


def transformer(layers: int) -> Trace:
    """Some 46 Nodes a layer: attention of one head, a residual, two linear layers, a residual."""
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
    """Prints the ratios. Exit status 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"chain": chain(often(1000, 20)), "5k": transformer(often(98, 5)), "50k": transformer(often(980, 6))}
        for name, trace in sizes.items():
            trace.save(Path(folder, f"{name}.jsonl"))
        files = dict(zip(BARS, ("chain", "chain", "5k", "50k"), strict=True))
        results = {name: _ratio(Path(folder, f"{file}.jsonl"), "whole" in name) for name, file in files.items()}
    return judge(results, BARS)


def _ratio(file: Path, is_whole: bool) -> float:
    export = ["export", str(file), "-o", str(file.with_suffix(".svg")), *["--no-fold"] * is_whole]
    commands = {"read": [sys.executable, "-c", READ, str(file)], "draw": [sys.executable, "-c", START, *export]}
    found = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            found[name] = min(found[name], time.perf_counter() - begin)
    print(f"  {file.stem}: read {found['read']:.2f} s, drawn {found['draw']:.2f} s")
    return found["draw"] / found["read"]


if __name__ == "__main__":
    sys.exit(main())
