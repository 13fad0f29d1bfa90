"""A program with every step of the compiler, and its recording for tests without PyTorch.

``.venv-torch/bin/python -m tests.live.compiled_program`` records it again.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from warnings import catch_warnings, simplefilter

from dispatchviz import Trace
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named

RECORDING = Path(__file__).parents[1] / "data" / "trace_of_compile.jsonl.gz"

PROGRAM = """\
import torch


def f(x, w):
    h = torch.nn.functional.linear(x, w)
    print("between")
    h.add_(1)
    return h.relu().sum()


x = torch.ones(2, 3)
w = torch.ones(4, 3, requires_grad=True)
compiled = torch.compile(f, backend="aot_eager")
compiled(x, w).backward()
compiled(torch.ones(5, 3), w).backward()
with torch.no_grad():
    compiled(x, w)


@torch.compile(backend="eager")
def nothing():
    return 1


nothing()
try:
    torch.compile(f, backend="eager", fullgraph=True)(x, w)
except RuntimeError as error:
    print(type(error))
y = (w * 2).sin().sum()
with torch._dynamo.compiled_autograd._enable(lambda graph: torch.compile(graph, backend="eager")):
    y.backward()
"""


def recorded(folder: Path, text: str = PROGRAM, name: str = "compiled.py") -> Trace:
    """Run a program on the installed PyTorch and return the recording."""
    file = folder / name
    file.write_text(text)
    with catch_warnings():
        simplefilter("default")  # PyTorch hides warnings, and cannot hide errors
        return program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace


def main() -> None:
    """Record the program again."""
    with TemporaryDirectory() as folder:
        without_folders(recorded(Path(folder))).save(RECORDING)


if __name__ == "__main__":
    main()
