"""A script that runs tests and timings on a GPU, and records the results in ``docs/gpu.md``.

    make gpu GPU_PYTHON=python3        with a Python that has CuPy; nothing is installed
    make gpu                           in a separate environment, .venv-gpu, which is created first

It runs the tests marked ``gpu``, and the founding program, whose events must be those of the emulated CUDA. It measures
ten operators, also on a PyTorch with CUDA if that Python has one. The exit status is 0 if all is correct, 1 if not, and
2 if a requirement is missing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "gpu.md"
FOUNDING = "examples/forum.py"
NEEDED = {
    "numpy": "numpy",
    "ml_dtypes": "ml_dtypes",
    "msgspec": "msgspec",
    "backports": "backports.zstd",
    "cupy": "cupy-cuda12x[ctk]",
}
"""The required modules, and the package that has each."""
FOR_TESTS = ("pytest", "hypothesis", "inline_snapshot", "yaml", "click", "rich", "textual")
SIZE, ROUNDS, BATCH = 1024, 7, 20
LONG = 50.0
"""The duration in milliseconds from which a call is long."""


# -- what is there ----------------------------------------------------------------------------------------------------


def missing() -> str:
    """Return a line about the missing requirements of this Python; empty if there are none."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        packages = " ".join(f"'{NEEDED[name]}'" for name in lacking)
        return f"{sys.executable} has no {', '.join(lacking)}: pip install {packages}"
    from dispatchviz.core.device.array_library import detect

    module, reason = detect()
    return "" if module is not None else f"{sys.executable} has CuPy, but {reason}"


def about() -> Iterator[tuple[str, str]]:
    """Yield facts about the machine, as rows."""
    from dispatchviz import __version__
    from dispatchviz.core.device.array_library import detect

    cupy, device = detect()
    yield "device", device
    yield "CuPy", str(getattr(cupy, "__version__", "?"))
    yield "NumPy", importlib.metadata.version("numpy")
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "dispatchviz", __version__


# -- tests ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tests:
    """The result of the tests."""

    passed: int
    failed: int
    result: str
    """The last line of pytest, or the reason why the tests did not run."""

    @property
    def well(self) -> bool:
        return self.passed > 0 and not self.failed


def run_tests() -> Tests:
    """Run the tests marked ``gpu``, and pass their output on."""
    lacking = [name for name in FOR_TESTS if importlib.util.find_spec(name) is None]
    if lacking:
        return Tests(0, 0, f"not run: this Python has no {', '.join(lacking)}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu and not torch", *_plugin()]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            print(line, end="", flush=True)
    last = next((line for line in reversed(lines) if line), "nothing was printed")
    failed = _count(last, "failed") + _count(last, "error")
    return Tests(_count(last, "passed"), failed or int(process.returncode != 0), last.strip("= "))


def _plugin() -> list[str]:
    """Return the options for our pytest plugin, which is not installed but only importable."""
    installed = any(point.name == "dispatchviz" for point in importlib.metadata.entry_points(group="pytest11"))
    return [] if installed else ["-p", "dispatchviz.testing.plugin"]


def _count(line: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", line)
    return int(found[1]) if found else 0


# -- the founding program ---------------------------------------------------------------------------------------------


def first_difference() -> str:
    """Return the first difference between the founding program's events on the GPU and the emulated ones; empty if
    there is none.
    """
    real, emulated = (_events(choice) for choice in ("cupy", "emulated"))
    for one, other in zip(real, emulated, strict=False):
        if one != other:
            return f"step {one.seq}: {one} on the GPU, {other} emulated"
    return "" if len(real) == len(emulated) else f"{len(real)} steps on the GPU, {len(emulated)} emulated"


def _events(choice: str) -> list[Any]:
    from dispatchviz.core.device.array_library import choose_cuda
    from dispatchviz.running.program import run

    choose_cuda(choice)
    return list(run(str(ROOT / FOUNDING), output=sys.stderr).trace)


# -- times ------------------------------------------------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda torch, x, y: torch.add(x, y),
    "mul": lambda torch, x, y: torch.mul(x, y),
    "exp": lambda torch, x, y: torch.exp(x),
    "relu": lambda torch, x, y: torch.relu(x),
    "erf": lambda torch, x, y: torch.erf(x),
    "sum": lambda torch, x, y: torch.sum(x),
    "softmax": lambda torch, x, y: torch.softmax(x, -1),
    "sort": lambda torch, x, y: torch.sort(x),
    "cat": lambda torch, x, y: torch.cat([x, y]),
    "mm": lambda torch, x, y: torch.mm(x, y),
}
"""The operators on ``(torch, x, y)``, two float32 matrices."""


def times(torch: ModuleType, wait: Callable[[], object]) -> dict[str, float]:
    """Return the milliseconds of each operator, as the median of rounds. ``wait`` returns when the GPU has finished its
    work.
    """
    x, y = (torch.linspace(-2, 2, SIZE * SIZE).reshape(SIZE, SIZE).to("cuda") for _ in range(2))
    return {name: _median(lambda call=call: call(torch, x, y), wait) for name, call in OPERATORS.items()}  # type: ignore[misc]


def _median(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """Return the median time after a warm-up call. Long calls run once per round."""
    _took(call, wait, 1)
    batch = 1 if _took(call, wait, 1) > LONG else BATCH
    return statistics.median(_took(call, wait, batch) for _ in range(ROUNDS))


def _took(call: Callable[[], object], wait: Callable[[], object], batch: int) -> float:
    """Return the milliseconds per call."""
    wait()
    start = time.perf_counter()
    for _ in range(batch):
        call()
    wait()
    return (time.perf_counter() - start) / batch * 1000


def our_times() -> dict[str, float]:
    """Return the times on CuPy."""
    import dispatchviz.torch as torch
    from dispatchviz.core.device.array_library import choose_cuda, detect

    choose_cuda("cupy")
    cupy: Any = detect()[0]
    return times(torch, cupy.cuda.Stream.null.synchronize)


def pytorchs_times() -> tuple[dict[str, float], str]:
    """Return the times of a PyTorch with CUDA and its version, or no times and the reason."""
    try:
        import torch
    except ImportError:
        return {}, "this Python has no PyTorch"
    if not torch.cuda.is_available():
        return {}, f"PyTorch {torch.__version__} has no CUDA here"
    return times(torch, torch.cuda.synchronize), f"PyTorch {torch.__version__}"


# -- the report -------------------------------------------------------------------------------------------------------


def report(tests: Tests, difference: str, ours: dict[str, float], theirs: dict[str, float], who: str) -> Iterator[str]:
    """Yield the lines of the file."""
    yield "# What ran on a GPU"
    yield ""
    yield "Written by `make gpu` (`scripts/gpu_report.py`), not by hand."
    yield ""
    for name, value in about():
        yield f"- {name}: {value}"
    yield f"- tests marked `gpu`: {tests.result}"
    yield f"- the founding program on the GPU: {difference or 'event for event as emulated; only the header differs'}"
    yield ""
    yield f"Milliseconds per call, recording off, float32 {SIZE}x{SIZE} (beside: {who}):"
    yield ""
    yield "| operator | dispatchviz on CuPy | PyTorch |"
    yield "|---|---|---|"
    for name, took in ours.items():
        yield f"| {name} | {took:.3f} | {f'{theirs[name]:.3f}' if name in theirs else '-'} |"


def main() -> int:
    """Write the report, and return the exit status."""
    if lacking := missing():
        print(f"make gpu: {lacking}", file=sys.stderr)
        return 2
    tests, difference = run_tests(), first_difference()
    theirs, who = pytorchs_times()
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT
    target.write_text("\n".join([*report(tests, difference, our_times(), theirs, who), ""]), encoding="utf-8")
    print(target.read_text(encoding="utf-8"))
    return int(bool(difference) or not tests.well)


if __name__ == "__main__":
    sys.exit(main())
