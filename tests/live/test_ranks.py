"""Programs whose processes are all recorded on an installed PyTorch, and the same programs without us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison.ranks.lanes import lanes
from dispatchviz.explain.comparison.ranks.member import Member, in_order
from dispatchviz.explain.comparison.ranks.mismatches import mismatches
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.trace import Trace
from tests.waiting import HANGS

pytestmark = [pytest.mark.torch, pytest.mark.long]

FAMILY = """\
import os, subprocess, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

class Doubled:
    def __init__(self):
        self.numbers = torch.arange(2.0)
    def __len__(self):
        return 2
    def __getitem__(self, at):
        doubled = self.numbers[at] * 2
        return doubled

def rank_of(rank, file):
    dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.Linear(2, 1))
    net(torch.ones(1, 2) * rank).sum().backward()
    total = torch.full((3,), float(rank + 1))
    dist.all_reduce(total)
    sys.stdout.write(f"rank {rank} {net.module.weight.grad.tolist()} {total.tolist()}\\n")
    sys.stdout.flush()
    dist.destroy_process_group()

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        data = Doubled()
        print([batch.tolist() for batch in DataLoader(data, num_workers=1, multiprocessing_context=method)], flush=True)
    code = "import os, sys; print(sys.argv, sys.path[0] == '', sys.stdout.write_through, sorted(os.environ))"
    subprocess.run([sys.executable, "-u", "-c", code, "word"], check=True)
    subprocess.run(["env"], check=True, stdout=subprocess.DEVNULL)
    mp.spawn(rank_of, args=(sys.argv[1],), nprocs=2)
    print(sys.argv[2:], sorted(os.environ))
    sys.exit(3)
"""


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "OMP_NUM_THREADS": "1", **more},
        capture_output=True,
        text=True,
        timeout=HANGS,
    )


def recorded(folder: Path, *words: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    """Run a program whose processes are recorded."""
    plain = ["--plain"] if command == "run" else []
    return run(folder, "-m", "dispatchviz", command, "--ranks", *plain, "--save", "t.dvtrace", *words)


def members(folder: Path) -> dict[str, Member]:
    """The recorded processes by their names."""
    found = in_order([Member(Trace.load(file), str(file)) for file in folder.glob("t*.dvtrace")])
    return {member.name: member for member in found}


class Family(NamedTuple):
    """The program with all its processes, recorded and without us."""

    folder: Path
    recorded: subprocess.CompletedProcess[str]
    plain: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Family:
    folder = tmp_path_factory.mktemp("family")
    (folder / "family.py").write_text(FAMILY)
    ours = recorded(folder, "family.py", str(folder / "recorded"), "a", "b")
    return Family(folder, ours, run(folder, "family.py", str(folder / "plain"), "a", "b"))


def test_output_and_status_are_those_of_the_plain_program(family: Family) -> None:
    _, done, plain = family
    assert done.returncode == plain.returncode == 3
    ours = [line for line in done.stderr.splitlines() if not line.startswith("dispatchviz: ")]
    assert sorted(ours) == sorted([*plain.stdout.splitlines(), *plain.stderr.splitlines()])


def test_every_process_with_calls_has_a_trace(family: Family) -> None:
    assert sorted(file.name for file in family.folder.glob("t*.dvtrace") if "process" not in file.name) == [
        "t.dvtrace", "t.rank0.dvtrace", "t.rank1.dvtrace", "t.worker0-2.dvtrace", "t.worker0.dvtrace",
    ]  # fmt: skip
    processes = [member.trace.header.process for member in members(family.folder).values()]
    assert len({process.launch for process in processes if process}) == 1
    assert {"worker 0", "worker 0 (2nd)"} <= set(members(family.folder))


@pytest.mark.parametrize("file", ["t.worker0.dvtrace", "t.worker0-2.dvtrace"])
def test_worker_has_the_calls_of_its_dataset(family: Family, file: str) -> None:
    trace = Trace.load(family.folder / file)
    lines = [(event.line, event.function) for event in trace if isinstance(event, ev.SourceLine)]
    assert (12, "Doubled.__getitem__") in lines
    operators = [event.operator for event in trace if isinstance(event, ev.Dispatched)]
    assert operators.count("aten::mul.Tensor") >= 2
    assert "doubled" in [event.name for event in trace if isinstance(event, ev.NameBound)]
    assert trace.notice == ""


def test_tensor_of_the_parent_is_known_before_in_a_forked_worker(family: Family) -> None:
    trace = Trace.load(family.folder / "t.worker0.dvtrace")
    first = next(event for event in trace if isinstance(event, ev.TensorCreated))
    assert (first.how, first.shape) == ("known before", (2,))
    name = next(event for event in trace if isinstance(event, ev.NameBound))
    assert (name.name, name.tensor) == ("data.numbers", first.tensor)


def test_ranks_agree_in_their_collectives(family: Family) -> None:
    found = [one for name, one in members(family.folder).items() if name.startswith("rank")]
    assert list(mismatches(found)) == []
    met = [row.meeting for row in lanes(found).rows if row.meeting is not None]
    assert [(call.operator, call.elements) for meeting in met for call in (meeting.first,)][-2:] == [
        ("c10d::allreduce_", 3),
        ("c10d::allreduce_", 3),
    ]
    assert all(set(meeting.calls) == {0, 1} for meeting in met)
    bucket = why_here(found[1].trace, found[1].collectives[-2].seq)
    assert bucket.startswith("Rank 1 calls all_reduce, collective ")
    assert "of the default group (ranks 0 and 1), with 3 elements of float32." in bucket
    assert "A hook makes the call while AccumulateGrad (" in bucket


LAUNCHED = """\
import os, signal, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(2)
dist.all_reduce(total)
print("total", total.tolist(), flush=True)
if sys.argv[1:] == ["kill"]:
    if dist.get_rank():
        os.kill(os.getpid(), signal.SIGKILL)
    dist.broadcast(total, 0)
    dist.all_reduce(total)
dist.destroy_process_group()
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def test_ranks_of_torchrun_are_recorded_although_one_is_killed(tmp_path: Path) -> None:
    (tmp_path / "launched.py").write_text(LAUNCHED)
    done = recorded(tmp_path, *TORCHRUN, "launched.py", "kill", command="why")
    assert done.returncode == 1
    found = members(tmp_path)
    assert {"rank 0", "rank 1"} <= found.keys()
    assert "cut off" in found["rank 1"].trace.notice
    assert "Rank 1 never called collective 1 of the default group: broadcast" in " ".join(done.stdout.split())


def test_recording_that_a_launcher_starts_has_the_rank_in_its_name_and_shows_nothing(tmp_path: Path) -> None:
    code = "import torch; print(torch.ones(1).item())"
    words = ("-m", "dispatchviz", "run", "--engine", "torch", "--save", "t.dvtrace", "-c", code)
    done = run(tmp_path, *words, RANK="1", WORLD_SIZE="2")
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == ("1.0\n", "")
    assert os.listdir(tmp_path) == ["t.rank1.dvtrace"]
    assert Trace.load(tmp_path / "t.rank1.dvtrace").header.rank == 1


def test_without_the_option_only_the_first_process_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(
        "import os, subprocess, sys, torch\n"
        "subprocess.run([sys.executable, '-c', 'import sys; print(sys.orig_argv[1:])'])\n"
        "if not os.fork():\n    torch.ones(1)\n    os._exit(0)\nos.wait()\n"
    )
    done = run(tmp_path, "-m", "dispatchviz", "run", "--engine", "torch", "--plain", "--save", "t.dvtrace", "child.py")
    assert sorted(os.listdir(tmp_path)) == ["child.py", "t.dvtrace"]
    assert "['-c', 'import sys; print(sys.orig_argv[1:])']" in done.stderr
    trace = Trace.load(tmp_path / "t.dvtrace")
    assert [remark.partition(":")[0] for remark in trace.header.remarks] == [
        "a new Python process was not recorded",
        "a forked process was not recorded",
    ]
