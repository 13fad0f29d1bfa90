"""Record PyTorch's answers again.

    python -m truth.record                        list the records, their requirements and durations
    python -m truth.record programs/views dtypes  run PyTorch again and write the files; also a part of a record
    python -m truth.record --check NAME ...       run again and write nothing; exit status 1 if an answer differs

``make conformance`` creates a Python with PyTorch (CPU): ``.venv-torch/bin/python``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from truth import records

ROOT = Path(__file__).parents[1]
TORCH, CUPY, GPU = "PyTorch 2.14 (CPU)", "CuPy", "a PyTorch with CUDA and a GPU"


class Recorder(NamedTuple):
    """A recorder: its subject, its requirements, its duration."""

    about: str
    needs: str
    duration: str
    """The longest duration on one busy processor."""
    parts: str = ""
    """The parts that may follow the name and a slash; empty if it is recorded as a whole."""


RECORDERS = {
    "programs": Recorder("dispatch logs, graphs, states, numbers of whole programs", TORCH, "40 s", "SUBJECT"),
    "expressions": Recorder("results and error texts of single calls", TORCH, "5 s"),
    "autograd_cases": Recorder("graphs, states, numbers of programs about autograd", TORCH, "1 min"),
    "training": Recorder("output and dispatch steps of the training loops", TORCH, "1 min", "LOOP"),
    "call_chains": Recorder("every dispatch of examples/chains, with the cells reached", TORCH, "30 s"),
    "library_programs": Recorder("output of programs with torch.library", TORCH, "2 min"),
    "python_keys": Recorder("calls that __torch_dispatch__ intercepts", TORCH, "3 min"),
    "worked_examples": Recorder("raw key sets of calls, tensors, threads", TORCH, "30 s"),
    "native_kernels": Recorder("calls, results, errors, strides of kernels", TORCH, "2 min", "dtypes, gradients, ..."),
    "printed_tensors": Recorder("printed tensors", TORCH, "1 min"),
    "engine_answers": Recorder("errors, nesting and threads of the engine", TORCH, "30 s"),
    "missing_kernels": Recorder("errors about missing kernels", TORCH, "20 s"),
    "torch_c_answers": Recorder("torch._C: answers, guards, signatures", TORCH, "20 s"),
    "dtypes": Recorder("promotion and casts", TORCH, "30 s"),
    "autocast_policies": Recorder("the cast policy of each operator", TORCH, "30 s"),
    "dispatch_keys": Recorder("keys and key sets", TORCH, "30 s"),
    "dispatch_tables": Recorder(
        "registrations of all operators, digests of their tables", "PyTorch 2.14, better a CUDA build", "1 min"
    ),
    "past_releases": Recorder(
        "the same of an older release", "a CUDA build of PyTorch from 2.6 to the one before the model's", "1 min"
    ),
    "dispatch_registrations": Recorder("refused registrations, random sequences of them", TORCH, "30 s"),
    "registration_histories": Recorder("random histories of registrations", TORCH, "30 s"),
    "native_files": Recorder("source files of meta and impl functions", f"{TORCH} for Linux on x86-64", "2 min"),
    "native_calls": Recorder("stubs and iterators of meta and impl functions", f"{TORCH} for Linux on x86-64", "20 s"),
    "stack_contents": Recorder("tags and values on the stacks of boxed calls", f"{TORCH}, g++", "20 s"),
    "backtraces": Recorder("C++ backtraces of calls", f"{TORCH} for Linux on x86-64, gdb", "30 s"),
    "source_digests": Recorder("digests of the sources that we mirror", TORCH, "10 s"),
    "key_layouts": Recorder("key sets of past releases", "DispatchKey.h of a release", "1 s", "[RELEASE=]HEADER"),
    "cuda_programs": Recorder("dispatch logs, graphs, states, numbers of programs on CUDA", GPU, "1 min"),
    "cupy": Recorder("names, parameters and loops of CuPy", f"{CUPY}, no GPU", "10 s"),
}
"""The recorders by name, which is the name of the module in ``truth/recorders``."""


def command(name: str) -> str:
    """The command that makes a record or a part of one again, and its requirements."""
    return f"python -m truth.record {name}    # needs {RECORDERS[name.partition('/')[0]].needs}"


def listed() -> str:
    """The records as a table."""
    rows = [(f"{name}/{of.parts}" if of.parts else name, *of[:3]) for name, of in RECORDERS.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join("  ".join((*map(str.ljust, row[:3], widths), row[3])) for row in rows)


def made(name: str, check: bool) -> list[str]:
    """Make one record, or a part of one, in this process; return the differences from the stored one."""
    recorder, _, part = name.partition("/")
    module = _module(recorder)
    found: list[str] = []
    for path, text in module.files(part):
        old = records.text(path) if path.exists() else ""
        different = _differences(module, path, old, text) if old else ["there is no record"]
        found += different
        print(f"{_location(path)}: {_summary(different)}", flush=True)
        if different and not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(records.packed(path, text))
    return found


def _module(recorder: str) -> ModuleType:
    return importlib.import_module(f"truth.recorders.{recorder}")


def _differences(module: ModuleType, path: Path, old: str, new: str) -> list[str]:
    if old == new:
        return []
    if hasattr(module, "differences"):
        return [*["torch"] * (_release(old) != _release(new)), *module.differences(path, old, new)]
    if ".json" in path.suffixes:
        return [*_unlike(json.loads(old), json.loads(new))] or ["the text"]
    return sorted({line.partition(" ")[0] for line in {*old.splitlines()} ^ {*new.splitlines()}}) or ["the text"]


def _release(text: str) -> str | None:
    """The release that a record names at its beginning."""
    found = _RELEASE.match(text)
    return found and found[1]


_RELEASE = re.compile(r'(?:PyTorch |\{\s*"torch": ")([\d.]+)')


def _unlike(old: Any, new: Any, depth: int = 2) -> Iterator[str]:
    """Yield the names in JSON whose values differ or exist on one side only."""
    if depth and isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                inside = [*_unlike(old.get(name), new.get(name), depth - 1)]
                yield from (f"{name}: {part}" for part in inside) if inside else (name,)


SHOWN = 20
"""The number of differences that are named."""


def _summary(different: list[str]) -> str:
    if not different:
        return "unchanged"
    more = ["..."] * (len(different) > SHOWN)
    return f"{len(different)} differ: {', '.join([*different[:SHOWN], *more])}"


def _location(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def main(arguments: list[str] | None = None) -> int:
    """The command line. Each of several records has its own process, because imports of one must not affect another."""
    parser = argparse.ArgumentParser(
        prog="truth.record", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name.partition("/")[0] not in RECORDERS]:
        parser.error(f"no record is called {', '.join(unknown)}. Records:\n{listed()}")
    if not options.names:
        print(listed())
        return 0
    if len(options.names) == 1:
        return int(bool(made(options.names[0], options.check)) and options.check)
    check = ["--check"] if options.check else []
    runs = [subprocess.run([sys.executable, "-m", "truth.record", *check, name], cwd=ROOT) for name in options.names]
    return max(run.returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main())
