"""A script that runs tests and timings on a GPU, and records the results in ``docs/gpu.md``.

    make gpu GPU_PYTHON=python3        with a Python that has CuPy; nothing is installed
    make gpu                           in a separate environment, .venv-gpu, which is created first

It runs the tests marked ``gpu``, and ten programs, whose events must be those of the emulated CUDA. It measures ten
operators, also on a PyTorch with CUDA if that Python has one. The exit status is 0 if all is correct, 1 if not, and 2
if a requirement is missing.

    python -m scripts.gpu_report --outdated

A test fails when code that runs on the GPU has changed since the report. Without a GPU, this command puts a warning
into the report, and the test passes.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "gpu.md"
PROGRAMS = (
    "examples/forum.py",
    "examples/lessons/streams.py",
    *sorted(f"scripts/gpu_programs/{file.name}" for file in (ROOT / "scripts/gpu_programs").glob("[!_]*.py")),
)
"""The programs whose events are compared, the founding program first."""
ON_THE_GPU = ("dispatchviz/core/device", "dispatchviz/core/native")
"""The folders with the code that runs on the GPU."""
OUTDATED = "**The code has changed since: what follows is about the commit below, not about today's code.**"
"""The warning of an outdated report."""
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
    yield "date", str(datetime.datetime.now(datetime.UTC).date())
    yield "commit", commit()
    yield "code", f"`{code()}` (a digest of {' and '.join(f'`{folder}`' for folder in ON_THE_GPU)})"


def commit() -> str:
    """Return the commit of the working tree; ``unknown`` without git."""
    command = ["git", "describe", "--always", "--dirty=, with changes", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def code() -> str:
    """Return a digest of the code that runs on the GPU."""
    files = sorted(file for folder in ON_THE_GPU for file in (ROOT / folder).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


# -- tests ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tests:
    """The result of the tests."""

    passed: int
    failed: int
    result: str
    """The last line of pytest, or the reason why the tests did not run."""
    skipped: tuple[str, ...] = ()
    """The places and reasons of the skipped tests, as pytest prints them."""

    @property
    def well(self) -> bool:
        return self.passed > 0 and not self.failed


def run_tests() -> Tests:
    """Run the tests marked ``gpu``, and pass their output on."""
    lacking = [name for name in FOR_TESTS if importlib.util.find_spec(name) is None]
    if lacking:
        return Tests(0, 0, f"not run: this Python has no {', '.join(lacking)}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-rs",
        "-m",
        "gpu and not torch",
        *_plugin(),
    ]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            print(line, end="", flush=True)
    last = next((line for line in reversed(lines) if line), "nothing was printed")
    failed = _count(last, "failed") + _count(last, "error")
    skipped = tuple(line.removeprefix("SKIPPED ") for line in lines if line.startswith("SKIPPED "))
    return Tests(_count(last, "passed"), failed or int(process.returncode != 0), last.strip("= "), skipped)


def _plugin() -> list[str]:
    """Return the options for our pytest plugin, which is not installed but only importable."""
    installed = any(point.name == "dispatchviz" for point in importlib.metadata.entry_points(group="pytest11"))
    return [] if installed else ["-p", "dispatchviz.testing.plugin"]


def _count(line: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", line)
    return int(found[1]) if found else 0


# -- programs ----------------------------------------------------------------------------------------------------------


def first_difference(program: str) -> str:
    """Return the first difference between a program's events on the GPU and the emulated ones; empty if there is
    none.
    """
    real, emulated = (events(program, choice) for choice in ("cupy", "emulated"))
    for at, (one, other) in enumerate(zip(real, emulated, strict=False)):
        if one != other:
            return f"step {at}: `{one}` on the GPU, `{other}` emulated"
    return "" if len(real) == len(emulated) else f"{len(real)} steps on the GPU, {len(emulated)} emulated"


def events(program: str, choice: str) -> list[str]:
    """Return the events of a run in a process of its own, without the addresses of objects."""
    from dispatchviz.core.record.trace_file import Trace

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.dvtrace"
        words = ["trace", "--no-values", "--cuda", choice, "--save", str(path), program]
        subprocess.run([sys.executable, "-m", "dispatchviz", *words], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        return [re.sub(r"0x[0-9a-f]+", "0x", repr(event)) for event in Trace.load(path)]


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


def report(
    tests: Tests, differences: dict[str, str], ours: dict[str, float], theirs: dict[str, float], who: str
) -> Iterator[str]:
    """Yield the lines of the file. ``differences`` has the first difference of each program, empty for none."""
    yield "# What ran on a GPU"
    yield ""
    yield "Written by `make gpu` (`scripts/gpu_report.py`), not by hand."
    yield ""
    for name, value in about():
        yield f"- {name}: {value}"
    yield f"- tests marked `gpu`: {tests.result}"
    yield from (f"  - skipped: {place}" for place in tests.skipped)
    yield ""
    yield "Programs, each on the GPU and emulated (headers differ):"
    yield ""
    yield "| program | its events on the GPU |"
    yield "|---|---|"
    for program, difference in differences.items():
        yield f"| {program} | {difference or 'the same as emulated'} |"
    yield ""
    yield f"Milliseconds per call, recording off, float32 {SIZE}x{SIZE} (beside: {who}):"
    yield ""
    yield "| operator | dispatchviz on CuPy | PyTorch |"
    yield "|---|---|---|"
    for name, took in ours.items():
        yield f"| {name} | {took:.3f} | {f'{theirs[name]:.3f}' if name in theirs else '-'} |"


def is_current(page: str) -> bool:
    """Return whether a report is about today's code, or says that it is not."""
    return f"`{code()}`" in page or OUTDATED in page


def warn(path: Path) -> int:
    """Put the warning into a report whose code has changed since. Return the exit status 0."""
    page = path.read_text(encoding="utf-8")
    if not is_current(page):
        title, rest = page.split("\n", 1)
        path.write_text(f"{title}\n\n{OUTDATED}\n{rest}", encoding="utf-8")
    return 0


def main() -> int:
    """Write the report, and return the exit status."""
    words = [word for word in sys.argv[1:] if word != "--outdated"]
    target = Path(words[0]) if words else REPORT
    if "--outdated" in sys.argv:
        return warn(target)
    if lacking := missing():
        print(f"make gpu: {lacking}", file=sys.stderr)
        return 2
    tests = run_tests()
    differences = {program: first_difference(program) for program in PROGRAMS}
    theirs, who = pytorchs_times()
    target.write_text("\n".join([*report(tests, differences, our_times(), theirs, who), ""]), encoding="utf-8")
    print(target.read_text(encoding="utf-8"))
    return int(any(differences.values()) or not tests.well)


if __name__ == "__main__":
    sys.exit(main())
