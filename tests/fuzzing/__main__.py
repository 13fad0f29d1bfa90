"""``python -m tests.fuzzing``: many damaged files in two processes. Reports tracebacks, hangs and high memory use."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path
from types import FrameType

from tests.fuzzing.cases import Cases, Outcome
from tests.fuzzing.seeds import seeds

LIMIT_S = 2.0
"""The processor time in seconds that a case may take. The clock would also count other work on a loaded machine."""

PATIENCE_S = 20
"""The clock time in seconds after which a case hangs, because waiting uses no processor time."""

LIMIT_MB = 300
"""The maximum memory of the process."""

GIVE_UP_MB = 3000


Entry = tuple[int, str, str, float, float]
"""A case, its outcome, the place of a failure, its seconds and MB."""


class Hang(BaseException):
    """The error that ends a case. It derives from BaseException, so that no reader catches it."""


def main() -> int:
    """Run the cases. Return exit status 1 if anything was found."""
    warnings.simplefilter("ignore")  # from the programs that make the seeds
    arguments = _parsed()
    with tempfile.TemporaryDirectory() as folder:
        kept = arguments.seeds or Path(folder) / "seeds"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(seeds()))
        if arguments.case is not None:
            return _one(Path(folder), kept, arguments.begin, arguments.case, arguments.keep)
        queue: Queue[Entry | None] = multiprocessing.Queue()
        first, files, jobs = arguments.first, arguments.files, arguments.jobs
        shares = [range(first + k, first + files, jobs) for k in range(jobs)]
        workers = [multiprocessing.Process(target=_work, args=(kept, arguments.begin, each, queue)) for each in shares]
        for worker in workers:
            worker.start()
        return _gathered(queue, workers, arguments.files)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--begin", type=int, default=15, help="what chance begins with")
    parser.add_argument("--seeds", type=Path, help="where the undamaged traces are kept, and made if it is not there")
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--keep", type=Path, help="where to leave the file of --case")
    return parser.parse_args()


def _one(folder: Path, kept: Path, begin: int, case: int, keep: Path | None) -> int:
    cases = Cases(folder, pickle.loads(kept.read_bytes()), begin)
    if keep:
        from random import Random

        with cases.file(Random(begin * 1_000_003 + case)) as path:
            keep.with_name(keep.name + path.suffix).write_bytes(path.read_bytes())
    began = time.process_time()
    outcome = cases.outcome(case)
    print(outcome.how, f"{time.process_time() - began:.2f} s", outcome.error, sep="\n")
    return int(outcome.how == "raised")


# -- in a separate process --------------------------------------------------------------------------------------------


def _work(kept: Path, begin: int, share: range, queue: Queue[Entry | None]) -> None:
    signal.signal(signal.SIGPROF, _hangs)
    signal.signal(signal.SIGALRM, _hangs)
    sys.__stdin__ = sys.stdin = open(os.devnull)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_AS, (GIVE_UP_MB << 20, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(Path(folder), pickle.loads(kept.read_bytes()), begin)
        for case in share:
            watch = _Watch()
            try:
                outcome = cases.outcome(case, partial(_itself, watch))
            except Hang:
                outcome = Outcome(case, "hung", traceback.format_exc())
            place = outcome.place if outcome.error else ""
            queue.put((case, outcome.how, place, watch.seconds, watch.memory))
    queue.put(None)


def _itself(watch: _Watch) -> _Watch:
    return watch


class _Watch:
    """A context that interrupts long cases and measures time and memory."""

    seconds, memory = 0.0, 0.0

    def __enter__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory
        self._began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        signal.alarm(PATIENCE_S)

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        self.seconds, self.memory = time.process_time() - self._began, _highest()


def _hangs(number: int, frame: FrameType | None) -> None:
    raise Hang


def _highest() -> float:
    """Return the peak memory in MB since it was last reset."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


# -- outcomes ---------------------------------------------------------------------------------------------------------


def _gathered(queue: Queue[Entry | None], workers: list[multiprocessing.Process], files: int) -> int:
    hows: Counter[str] = Counter()
    found: dict[str, list[int]] = {}
    slowest, largest, done, began = (0.0, -1), (0.0, -1), 0, time.monotonic()
    while done < len(workers):
        entry = queue.get(timeout=120)
        if entry is None:
            done += 1
            continue
        case, how, place, seconds, memory = entry
        hows[how] += 1
        slowest, largest = max(slowest, (seconds, case)), max(largest, (memory, case))
        if memory > LIMIT_MB:
            place, how = f"{memory:.0f} MB", "large"
        if how in ("raised", "hung", "large"):
            where = f"{how}: {place}"
            if where not in found:
                print(f"case {case} {where}", flush=True)
            found.setdefault(where, []).append(case)
        if hows.total() % 5000 == 0:
            print(f"{hows.total():,} of {files:,} after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    for where, cases in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(cases):>6} {where}  {cases[:3]}")
    print(json.dumps({"files": hows.total(), **hows, "longest_s": slowest, "most_MB": largest}))
    return int(bool(found))


if __name__ == "__main__":
    os.environ["TERM"] = "dumb"  # `open` prints the log
    sys.exit(main())
