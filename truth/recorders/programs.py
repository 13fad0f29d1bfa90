"""Records of the small programs of ``truth/programs`` on a real PyTorch (CPU), one file per subject.

Each program has three runs, each in a new thread, where sequence numbers start at 0: one profiled; one statement by
statement, which reads every tensor's autograd state after each statement and every graph just before its backward
(``facts``, ``graphs``); and one with the dispatcher watched (``log``). Reading the state of a stale view makes a Node,
so the numbers in ``facts`` and ``graphs`` hold for a reader who reads as often. Two checks validate the watching: the
watched run must end like the others, and its calls (not its redispatches) must equal, name by name and level by level,
the report of PyTorch's own profiler on the unwatched run.

``truth/formats/program_records.py`` defines the form of the files. The record of each program holds:

- ``source``: the text; line numbers below count its lines from 1
- ``log``: steps ``[depth, line, operator, key, key set, included, excluded, how, node]``, sets as raw integers, ``how``
  is ``call`` or ``redispatch`` (``torch.ops`` calls are ``call`` too), ``node`` the Node being evaluated or null;
  null for programs with the comment ``# no log``
- ``facts``: per top-level statement ``[line, {variable: [requires_grad, is_leaf, version, grad_fn, output_nr]}]`` with
  the variables whose state changed, if any did; ``{"error": first line}`` where reading it raises
- ``graphs``: per backward ``roots`` ([node, input_nr] each), ``nodes`` in depth-first preorder and ``order``, in which
  they ran. A node: ``name``, ``sequence_nr`` (null: the maximum), ``topological_nr``, ``edges`` ([node, input_nr] or
  null), ``inputs`` ([shape, dtype]), ``variable`` (of AccumulateGrad), ``saved``
- ``values``, ``grads``: of the variables at the end, null where they are random; ``sequence_numbers``: the number that
  the ``log`` run took; ``error``: ``[type, first line, line]`` or null; ``warnings``: first lines; ``output``
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from truth import records
from truth.compare import close, close_text
from truth.formats.dispatch_log import calls
from truth.formats.program_records import Record, RecordFile, file_text
from truth.observers.dispatcher import profiled_calls, watched_dispatcher, watched_engine, watched_run
from truth.observers.runs import Graphs, Run, autograd_facts, in_new_thread
from truth.programs import SUBJECTS

NO_LOG = "# no log"
"""The comment in programs that call operators on the meta device, whose kernels are not watched."""


def unwatched(source: str) -> Record:
    """The record of a program with PyTorch's unmodified dispatcher. Raise AssertionError if its two runs end
    differently.

    ``called`` lists the calls that the profiler recorded.
    """
    plain, stepped = Run(torch, source), Run(torch, source)
    called = in_new_thread(profiled_calls, plain)
    graphs = Graphs(stepped)
    with watched_engine(graphs):
        facts = in_new_thread(autograd_facts, stepped)
    assert text(stepped.end) == text(plain.end), source
    return {"source": source, "facts": facts, "graphs": graphs.noted, **plain.end, "called": called}


def watched(source: str, found: Record) -> Record:
    """The whole record. Raise AssertionError if watching the dispatcher changed the behavior of the program."""
    run = Run(torch, source)
    log, numbers = in_new_thread(watched_run, run)
    called = found.pop("called")
    assert text(run.end) == text({key: found[key] for key in run.end}), source
    if NO_LOG in source:
        return {**found, "log": None, "sequence_numbers": numbers}
    assert calls(log) == called, f"{source}\n{called}\n{calls(log)}"
    return {**found, "log": log, "sequence_numbers": numbers}


def load_what_is_lazy() -> None:
    """Load everything that PyTorch would load lazily within the first program that needs it, by calls that must not be
    watched.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.forward_ad._maybe_load_decompositions()  # the first dual tensor would load them, with a warning
        torch.ones(1, device="meta").mul(1)  # the first such call loads modules


def record_programs(programs: dict[str, str]) -> dict[str, Record]:
    """The records of some programs, by name."""
    torch.set_num_threads(1)
    load_what_is_lazy()
    found = {name: unwatched(source) for name, source in programs.items()}
    with watched_dispatcher():
        return {name: watched(source, found[name]) for name, source in programs.items()}


def text(found: Any) -> str:
    """A record as JSON: two records are the same if their texts are, nan included."""
    return json.dumps(found, separators=(",", ":"))


# -- files ------------------------------------------------------------------------------------------------------------


def files(part: str) -> Iterator[tuple[Path, str]]:
    """File and text of some subjects, separated by commas, or of all."""
    subjects = {name: SUBJECTS[name] for name in part.split(",")} if part else SUBJECTS
    found = record_programs({name: source for programs in subjects.values() for name, source in programs.items()})
    release = torch.__version__.partition("+")[0]
    for subject, programs in subjects.items():
        of_subject = json.loads(text({name: found[name] for name in programs}))
        yield records.HERE / "programs" / f"{subject}.txt", file_text(release, of_subject)


def differences(path: Path, old: str, new: str) -> list[str]:
    """Programs whose records differ by more than rounding."""
    known, found = RecordFile(old), RecordFile(new)
    names = dict.fromkeys((*known, *found))
    return [name for name in names if name not in known or name not in found or not _close(known[name], found[name])]


def _close(one: Record, other: Record) -> bool:
    """Return whether two records are equal within the rounding of another processor, which also affects the output."""
    printed = [str(record["output"]) for record in (one, other)]
    return close_text(*printed) and close({**one, "output": ""}, {**other, "output": ""})
