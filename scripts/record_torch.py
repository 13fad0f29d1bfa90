"""Runs the small programs of ``programs.py`` on a real PyTorch (CPU) and stores what it did, as test data.

    python -m scripts.record_torch                write tests/data/torch_programs.json.gz
    python -m scripts.record_torch --check        record again and compare with the stored file
    python -m scripts.record_torch --print NAME   show one program's record as text; no NAME: all

Per program there are three runs, each in a thread of its own, where sequence numbers start at 0: one profiled, one
statement by statement that reads every tensor's autograd state after each one and every graph just before it goes
backward (``facts``, ``graphs``), and one with the dispatcher watched (``log``). Reading the state of a stale view makes
a Node, so the numbers in ``facts`` and ``graphs`` hold for a reader who reads as often. Two checks keep the watching
honest: the watched run must end like the others, and its calls (not its redispatches) must equal, name by name and
level by level, what PyTorch's own profiler reports of the unwatched run.

The file is JSON with ``format``, ``torch`` (release), ``programs`` and ``expressions``. Of each program:

- ``source``: the text; line numbers below count its lines from 1
- ``log``: steps ``[depth, line, operator, key, key set, included, excluded, how, node]``, sets as raw integers, ``how``
  is ``call`` or ``redispatch`` (``torch.ops`` calls are ``call`` too), ``node`` the Node being evaluated or null;
  null for programs that say ``# no log``
- ``facts``: per top-level statement ``[line, {variable: [requires_grad, is_leaf, version, grad_fn, output_nr]}]`` with
  the variables whose state changed; ``{"error": first line}`` where reading it raises
- ``graphs``: per backward ``roots`` ([node, input_nr] each), ``nodes`` in depth-first preorder and ``order``, in which
  they ran. A node: ``name``, ``sequence_nr`` (null: the maximum), ``topological_nr``, ``edges`` ([node, input_nr] or
  null), ``inputs`` ([shape, dtype]), ``variable`` (of AccumulateGrad), ``saved``
- ``values``, ``grads``: of the variables at the end, null where they are random; ``sequence_numbers``: how many the
  ``log`` run took; ``error``: ``[type, first line, line]`` or null; ``warnings``: first lines; ``output``

An expression maps to ``["value", repr]`` or ``["error", type, message]``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from scripts.close import close
from scripts.observe import Graphs, Run, autograd_facts, evaluated, in_new_thread, sequence_numbers_taken
from scripts.programs import EXPRESSIONS, PROGRAMS
from scripts.readable import readable
from scripts.watch_torch import calls, profiled_calls, steps_of, watched_dispatcher, watched_engine

FORMAT = 1
STORED = Path(__file__).parent.parent / "tests" / "data" / "torch_programs.json.gz"

NO_LOG = "# no log"
"""In programs that call operators on the meta device, whose kernels are not watched."""

Record = dict[str, Any]


def unwatched(source: str) -> Record:
    """What a program does when the dispatcher is as PyTorch ships it; AssertionError if its two runs end differently.

    ``called`` is what the profiler saw.
    """
    plain, stepped = Run(torch, source), Run(torch, source)
    called = in_new_thread(lambda: profiled_calls(plain))
    graphs = Graphs(stepped)
    with watched_engine(graphs):
        facts = in_new_thread(lambda: autograd_facts(stepped))
    assert text(stepped.end) == text(plain.end), source
    return {"source": source, "facts": facts, "graphs": graphs.noted, **plain.end, "called": called}


def watched(source: str, found: Record) -> Record:
    """The whole record; AssertionError if watching the dispatcher changed what the program does."""
    run = Run(torch, source)
    log, numbers = in_new_thread(lambda: (steps_of(run.whole), sequence_numbers_taken(torch)))
    called = found.pop("called")
    assert text(run.end) == text({key: found[key] for key in run.end}), source
    if NO_LOG in source:
        return {**found, "log": None, "sequence_numbers": numbers}
    assert calls(log) == called, f"{source}\n{called}\n{calls(log)}"
    return {**found, "log": log, "sequence_numbers": numbers}


def record_programs(programs: dict[str, str]) -> dict[str, Record]:
    """The records of some programs, by name."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.forward_ad._maybe_load_decompositions()  # the first dual tensor would, and would warn
        torch.ones(1, device="meta").mul(1)  # the first such call loads modules that must not be watched
    found = {name: unwatched(source) for name, source in programs.items()}
    with watched_dispatcher():
        return {name: watched(source, found[name]) for name, source in programs.items()}


def record_expressions() -> dict[str, list[str]]:
    """What every expression gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {expression: evaluated(torch, expression) for expression in EXPRESSIONS}


# -- file and command line ----------------------------------------------------------------------------------------


def stored(path: Path = STORED) -> Record:
    """The stored file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)  # type: ignore[no-any-return]


def document(records: dict[str, Record], expressions: dict[str, list[str]]) -> Record:
    """What the file holds."""
    release = torch.__version__.split("+")[0]
    whole = {"format": FORMAT, "torch": release, "programs": records, "expressions": expressions}
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


def text(found: Any) -> str:
    """As JSON: two records are the same if their texts are, nan included."""
    return json.dumps(found, separators=(",", ":"))


def written(whole: Record) -> bytes:
    """The file's bytes, the same on every run."""
    return gzip.compress(text(whole).replace('},"', '},\n"').encode(), mtime=0)


def differences(old: Record, new: Record) -> list[str]:
    """Programs and expressions whose records differ by more than rounding."""
    parts = ("programs", "expressions")
    pairs = [(name, old[part].get(name), new[part].get(name)) for part in parts for name in old[part] | new[part]]
    return [name for name, one, other in pairs if not close(one, other)]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=STORED, help="file to write, or to compare with")
    parser.add_argument("--check", action="store_true", help="record again and compare, write nothing")
    parser.add_argument("--print", nargs="*", metavar="NAME", help="show records as text, write nothing")
    options = parser.parse_args()
    if options.print is not None:
        for name, found in record_programs({name: PROGRAMS[name] for name in options.print or PROGRAMS}).items():
            print("\n".join(readable(name, found)))
        return 0
    whole = document(record_programs(PROGRAMS), record_expressions())
    if options.check:
        different = differences(stored(options.out), whole)
        print(f"{len(PROGRAMS)} programs, {len(EXPRESSIONS)} expressions, {len(different)} differ", *different)
        return 1 if different else 0
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(written(whole))
    print(f"{len(PROGRAMS)} programs, {len(EXPRESSIONS)} expressions, {options.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
