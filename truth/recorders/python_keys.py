"""The calls that ``__torch_dispatch__`` intercepts on an installed PyTorch, in two files.

``python_keys.json`` has the output of the programs of ``truth/questions/python_keys.txt``. ``python_keys_seen.json``
has the calls that a mode intercepts in the programs of ``truth/programs``, and those that wrappers intercept in
programs that create tensors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from truth import records
from truth.formats.json_text import json_text
from truth.questions.python_keys import printed, programs, seen, seen_by_wrappers, seen_programs


def in_a_child(source: str) -> list[str] | None:
    """``seen_by_wrappers`` in its own process, or None if that crashes, as PyTorch may for tensors without memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as stream:
            json.dump(seen_by_wrappers(source), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    return json.loads(text) if os.waitpid(child, 0)[1] == 0 else None


def differences(path: Path, old: str, new: str) -> list[str]:
    """Programs whose calls differ, and the number of programs that were not recorded before."""
    known, found = json.loads(old), json.loads(new)
    parts = [part for part in known if part != "torch"]
    changed = [f"{part}: {name}" for part in parts for name, of in known[part].items() if found[part].get(name) != of]
    unknown = sum(len(found[part].keys() - known[part].keys()) for part in parts)
    return [*changed, *[f"{unknown} programs without a record"] * (unknown > 0)]


def files(part: str) -> Iterator[tuple[Path, str]]:
    """Both files with their texts."""
    torch.set_num_threads(1)
    version = torch.__version__.partition("+")[0]
    answers = {name: printed(source) for name, source in programs().items()}
    yield records.HERE / "python_keys.json", json_text({"torch": version, "printed": answers})
    sources = seen_programs()
    in_children = {name: in_a_child(source) for name, source in sources.items() if "torch.tensor(" in source}
    order = sorted(sources, key=lambda name: "_set_sequence_nr" not in sources[name])  # before numbers are that large
    found = {name: seen(sources[name]) for name in order}
    calls = {name: found[name] for name in sources}
    by_wrappers = {name: of for name, of in in_children.items() if of is not None}
    whole = {"torch": version, "seen": calls, "seen_by_wrappers": by_wrappers}
    yield records.HERE / "python_keys_seen.json", json_text(whole)
