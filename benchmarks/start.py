"""The startup time of commands that look something up, of the namespace, and of a program in the stepper.

    python -m benchmarks.start

The commands and ``import dispatchviz.torch`` are compared with NumPy's import and bare Python, by processor time;
``import dispatchviz.torch`` also with ``import torch``, if PyTorch is installed
(``.venv-torch/bin/python -m benchmarks.start``). The home screen and ``run examples/forum.py``,
from the start of the interpreter to the last row of the first screen, are compared with an empty Textual app on the
same pseudo terminal.

Each contestant is a process of its own. They alternate, and the smallest round counts, because disturbances only slow a
process down. Ratios are more meaningful than times because they transfer between machines. NumPy's import starts
threads, whose processor time counts.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from benchmarks.processes import START, own_command, smallest
from benchmarks.sizes import judge, often
from benchmarks.tui import EMPTY, first_paint

ROUNDS = often(15)
LOOKING_UP = 0.6
"""The bar of ``table`` and ``keys``, relative to ``python -c "import numpy"``."""
CARD = 0.7
"""The bar of ``why OP KEY``, which tries registrations on copies of the operator, and of ``keys KEY``, which searches
all operators, relative to the same.
"""
CODEGEN = 1.2
"""The bar of ``codegen``, relative to the same. A quarter of it is Python's own modules."""
DOCTOR = 2.1
"""The bar of ``doctor``, relative to the same. It imports NumPy."""
HELP = 1.5
"""The bar of ``--help``, relative to ``python -c pass``."""

IMPORTED = 0.25
"""The bar of ``import dispatchviz.torch``, relative to ``import torch``."""
IMPORTED_OF_NUMPY = 2.0
"""The bar of the same import, relative to ``import numpy``. The libraries that it needs take 1.2."""
PAINTED = {"home": ((), 1.5), "run examples/forum.py": (("run", "examples/forum.py"), 3.5)}
"""First screens, each with its command line and its bar relative to an empty Textual app."""

NUMPY, BARE = "import numpy", "pass"
MODEL, PYTORCH = "import dispatchviz.torch", "import torch"
COMMANDS = {
    "--help": (["--help"], BARE, HELP),
    "keys": (["keys"], NUMPY, LOOKING_UP),
    "keys 274877939713": (["keys", "274877939713"], NUMPY, LOOKING_UP),
    "keys QuantizedCPU": (["keys", "QuantizedCPU"], NUMPY, CARD),
    "table add": (["table", "add"], NUMPY, LOOKING_UP),
    "why linear PrivateUse1": (["why", "linear", "PrivateUse1"], NUMPY, CARD),
    "codegen add": (["codegen", "add"], NUMPY, CODEGEN),
    "doctor": (["doctor"], NUMPY, DOCTOR),
}
"""Command lines, each with the command that it is compared with and its bar."""


def main() -> int:
    """Print the ratios. Return exit status 1 if a bar is missed."""
    commands = {name: own_command(*command) for name, (command, _, _) in COMMANDS.items()}
    codes = {code: [sys.executable, "-c", code] for code in (NUMPY, BARE, MODEL)}
    times = smallest({**commands, **codes}, ROUNDS)
    print(f"  bare Python {times[BARE] * 1000:.0f} ms, import numpy {times[NUMPY] * 1000:.0f} ms")
    results, bars = dict[str, float](), dict[str, float]()
    rivals = {name: (rival, bar) for name, (_, rival, bar) in COMMANDS.items()}
    for name, (rival, bar) in {**rivals, MODEL: (NUMPY, IMPORTED_OF_NUMPY)}.items():
        row = f"{name}, of {'bare Python' if rival == BARE else rival}"
        results[row], bars[row] = times[name] / times[rival], bar
    if find_spec("torch") is not None:
        times = smallest({code: [sys.executable, "-c", code] for code in (MODEL, PYTORCH)}, ROUNDS)
        row = f"{MODEL}, of {PYTORCH}"
        results[row], bars[row] = times[MODEL] / times[PYTORCH], IMPORTED
    for name, (command, bar) in PAINTED.items():
        row = f"{name}, of an empty Textual app"
        results[row], bars[row] = _relative_to_an_empty_app(*command), bar
    return judge(results, bars)


def _relative_to_an_empty_app(*command: str) -> float:
    """Return the time of a first screen relative to an empty Textual app's."""
    pairs = [(first_paint(START, *command), first_paint(EMPTY)) for _ in range(ROUNDS)]
    ours, empty = (min(times) for times in zip(*pairs, strict=True))
    return ours / empty


if __name__ == "__main__":
    sys.exit(main())
