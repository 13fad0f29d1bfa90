"""What Python registers while torch is imported: in which order, and by which libraries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from operator import itemgetter
from typing import Any

import pytest

from dispatchviz.core.table.initialization_order import initialization_order
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.explain.cells.registration.registrations import pytorch_registrations_of

pytestmark = pytest.mark.torch

IMPORTING = """
import json, sys
libraries, calls = [], []
def watch(frame, event, called):
    if event != "c_call" or frame.f_globals["__name__"] != "torch.library":
        return
    here = frame.f_locals
    if called.__name__ in ("define", "impl"):
        name = str(here.get("name") or here.get("schema")).rpartition("::")[2].partition("(")[0]
        calls.append((f"{here['self'].ns}::{name}", here.get("dispatch_key") or ""))
    elif called.__name__ == "_dispatch_library" and "filename" in here:
        file = here["filename"].rpartition("site-packages/")[2]
        libraries.append((f"{file}:{here['lineno']}", here["kind"], here["ns"], here["dispatch_key"]))
sys.setprofile(watch)
import torch
sys.setprofile(None)
print(json.dumps({"libraries": libraries, "calls": calls}))
"""
"""Libraries, by place; then definitions and kernels: operator and key, or no key for a definition."""


@pytest.fixture(scope="module")
def imported() -> dict[str, list[Any]]:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=True)
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def test_modules_run_in_the_order_of_the_model(imported: dict[str, list[Any]]) -> None:
    seen: dict[str, list[str]] = {}
    for name, key in imported["calls"]:
        seen.setdefault(name, []).append(key)
    compared = 0
    for name, operator in pytorch_registry("cpu").operators.items():
        ours = [(initialization_order(k.debug), str(key)) for key, ks in operator.registrations.items() for k in ks]
        ours = [each for each in ours if each[0].file.endswith(".py")]
        if len({moment for moment, _ in ours}) > 1:
            compared += 1
            assert [key for _, key in sorted(ours, key=itemgetter(0))] == [key for key in seen[name] if key], name
    assert compared > 20


def test_blocks_are_as_they_are_written(imported: dict[str, list[Any]]) -> None:
    registry, one_of = pytorch_registry("cuda"), dict[str, str]()
    for name, op in registry.operators.items():
        places = [op.debug, *(kernel.debug for kernels in op.registrations.values() for kernel in kernels)]
        one_of |= {place: name for place in places if ".py" in place}
    written = set()
    for name in set(one_of.values()):
        for each in pytorch_registrations_of(registry.find(name), registry):
            if found := re.match(r'torch\.library\.Library\("(\w+)", "(\w+)"(?:, "(\w+)")?\)', each.block):
                written.add((each.place, found[2], found[1], found[3] or ""))
    assert len(written) > 15
    assert written <= set(map(tuple, imported["libraries"]))
