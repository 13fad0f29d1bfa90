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

import resource
import subprocess
import sys
from importlib.util import find_spec

from benchmarks.sizes import QUICK, often
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
PAINTED = {"home": ((), 1.5), "run examples/forum.py": (("run", "examples/forum.py"), 1.8)}
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

START = "import sys; from dispatchviz.cli import main; sys.exit(main())"
"""The code of the installed script."""


def main() -> int:
    """Print the ratios. Return exit status 1 if a bar is missed."""
    processes = {name: [sys.executable, "-c", START, *command] for name, (command, _, _) in COMMANDS.items()}
    codes = {code: [sys.executable, "-c", code] for code in (NUMPY, BARE, MODEL)}
    times = smallest({**processes, **codes})
    print(f"  bare Python {times[BARE] * 1000:.0f} ms, import numpy {times[NUMPY] * 1000:.0f} ms")
    missed = False
    rivals = {name: (rival, bar) for name, (_, rival, bar) in COMMANDS.items()}
    for name, (rival, bar) in {**rivals, MODEL: (NUMPY, IMPORTED_OF_NUMPY)}.items():
        ratio = times[name] / times[rival]
        missed |= ratio > bar and not QUICK
        against = "bare Python" if rival == BARE else "import numpy"
        print(f"  {name:<24} {times[name] * 1000:4.0f} ms, {ratio:.2f} times {against} (bar {bar})")
    ratios = (
        (_relative_to_pytorch(), IMPORTED),
        *((_relative_to_an_empty_app(name), bar) for name, (_, bar) in PAINTED.items()),
    )
    missed |= any(ratio is not None and ratio > bar for ratio, bar in ratios) and not QUICK
    return int(missed)


def _relative_to_pytorch() -> float | None:
    """Return the import time of the namespace relative to PyTorch's, or None without PyTorch."""
    if find_spec("torch") is None:
        print(f"  {MODEL}: no PyTorch is installed here to compare it with")
        return None
    times = smallest({code: [sys.executable, "-c", code] for code in (MODEL, PYTORCH)})
    ratio = times[MODEL] / times[PYTORCH]
    print(f"  {MODEL} {times[MODEL] * 1000:.0f} ms, {ratio:.2f} times {PYTORCH} (bar {IMPORTED})")
    return ratio


def _relative_to_an_empty_app(name: str) -> float:
    """Return the time of a first screen relative to an empty Textual app's."""
    command, bar = PAINTED[name]
    pairs = [(first_paint(START, *command), first_paint(EMPTY)) for _ in range(ROUNDS)]
    ours, empty = (min(times) for times in zip(*pairs, strict=True))
    print(f"  {name} {ours:.0f} ms, {ours / empty:.2f} times an empty Textual app (bar {bar})")
    return ours / empty


def smallest(processes: dict[str, list[str]]) -> dict[str, float]:
    """Return the processor seconds of each process, the smallest over rounds in which they alternate."""
    found = dict.fromkeys(processes, float("inf"))
    for _ in range(ROUNDS):
        for name, command in processes.items():
            found[name] = min(found[name], _seconds(command))
    return found


def _seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
