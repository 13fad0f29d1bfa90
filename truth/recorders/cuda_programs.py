"""Records of ``truth/programs/on_cuda.txt`` on a real GPU, as in ``programs.py`` but with the kernels for CUDA.

The backward of CUDA tensors runs in a thread of the engine, so all threads are watched here; the thread of the program
waits meanwhile. The record names its PyTorch and its GPU: the available machine may have an older release, whose raw
key sets have another layout.

A program is left out if two runs end differently. A program may behave differently while it is watched, because threads
of two devices meet in another order or half precision is rounded differently. Then ``log`` is null, ``not_watched``
gives the reason, and ``called`` lists the calls that PyTorch's profiler recorded unwatched, as ``[level, operator]``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.compare import close
from truth.formats.json_text import json_text
from truth.formats.program_records import Record
from truth.observers import dispatcher
from truth.observers.dispatcher import WATCHED, watched_dispatcher
from truth.programs import ON_CUDA
from truth.recorders.programs import unwatched, watched

KEYS = (*WATCHED, "AutogradCUDA", "CUDA", "AutocastCUDA")
OTHERWISE = "watched, it ends or calls otherwise"


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    found = record_programs(ON_CUDA)
    machine = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    yield records.HERE / "cuda_programs.json.gz", json_text({**machine, "programs": found})


def record_programs(programs: dict[str, str]) -> dict[str, Record]:
    """The records of some programs, by name."""
    torch.set_num_threads(1)
    torch.ones(1, device="cuda")
    dispatcher.watch_all_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.forward_ad._maybe_load_decompositions()  # the first dual tensor would load them, with a warning
        torch.ones(1, device="meta").mul(1)  # the first such call loads modules that must not be watched
        found = dict(_unwatched(programs))
        with watched_dispatcher(KEYS):
            return {name: _watched(source, found[name]) for name, source in programs.items() if name in found}


def _unwatched(programs: dict[str, str]) -> Iterator[tuple[str, Record]]:
    for name, source in programs.items():
        try:
            yield name, unwatched(source)
        except AssertionError:
            print(f"{name} is left out: two runs end differently")


def _watched(source: str, found: Record) -> Record:
    """The whole record, or the unwatched record of a program that cannot be watched."""
    try:
        return watched(source, dict(found))
    except AssertionError:
        return {**found, "log": None, "sequence_numbers": None, "not_watched": OTHERWISE}


def differences(path: Path, old: str, new: str) -> list[str]:
    """The differences beyond rounding: the machine, and programs."""
    one, other = ({**each.pop("programs"), **each} for each in (json.loads(old), json.loads(new)))
    return [name for name in {**one, **other} if not close(one.get(name), other.get(name))]
