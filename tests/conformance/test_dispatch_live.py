"""Keys, tables, registrations and failing lookups, compared with a real PyTorch.

The stored snapshots are taken again, each in a process of its own, because importing more than torch registers more.
Dumps and error messages are compared directly.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table import dump
from dispatchviz.core.table.library import Library
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import (
    BOXED,
    TYPED,
    UNBOXED,
    pytorch_operators,
    pytorch_registrations,
    pytorch_registry,
)
from tests.amounts import amount
from tests.core.experiments import with_fallbacks
from truth import records

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parent.parent.parent
K = DispatchKey
CUDA = torch.version.cuda is not None
"""True if the installed PyTorch is a CUDA build. It needs no GPU to list registrations."""


def in_a_fresh_process(program: str) -> Any:
    """Return the output of a program as JSON; ``truth`` is on its path, and it has the recorders of registrations."""
    imports = "import json; from truth.recorders import dispatch_tables, dispatch_keys, dispatch_registrations"
    command = [sys.executable, "-W", "ignore", "-c", f"{imports}\n{program}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.record("dispatch_tables")
@pytest.mark.pinned
def test_the_stored_registrations_are_pytorchs() -> None:
    program = "print(json.dumps(dispatch_tables.text(dispatch_tables.contents())))"
    assert in_a_fresh_process(program) == (ROOT / "dispatchviz/core/native/registrations.txt").read_text("utf-8")


@pytest.mark.record("dispatch_tables")
@pytest.mark.skipif(
    records.read("dispatch_tables")["build"] != ("cuda" if CUDA else "cpu"), reason="they are of another build"
)
@pytest.mark.pinned
def test_the_stored_tables_are_pytorchs() -> None:
    program = "print(json.dumps(dispatch_tables.test_data()))"
    assert in_a_fresh_process(program) == records.read("dispatch_tables")


@pytest.mark.record("dispatch_keys")
def test_the_stored_keys_are_pytorchs() -> None:
    program = "print(json.dumps(dispatch_keys.data()))"
    assert in_a_fresh_process(program) == records.read("dispatch_keys")


@pytest.mark.record("dispatch_registrations")
@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_replayed_registrations_give_the_tables_of_pytorch(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored sequences are PyTorch's, and so are others that the model has not seen."""
    from tests.core import test_replay

    data = in_a_fresh_process(f"print(json.dumps(dispatch_registrations.data({seed})))")
    if seed == 0:
        assert data == records.read("dispatch_registrations")
    monkeypatch.setattr(test_replay, "DATA", data)
    for number in range(len(data["sequences"])):
        test_replay.test_every_stored_entry_equals_pytorchs(number)


@pytest.mark.long
def test_every_dump_of_every_operator_is_pytorchs() -> None:
    """The dumps have 3,607 operators and 494,159 entries: kernel, reason, fallthrough; definitions and registrations,
    even inactive ones.
    """
    registry = pytorch_registry("cuda" if CUDA else "cpu")
    program = "print(json.dumps({n: dispatch_tables.dumps(n) for n in dispatch_tables.names()}))"
    live = in_a_fresh_process(program)
    assert live.keys() == set(registry.names())
    assert len(live) * len(RUNTIME_KEYS) == 494_159
    for op in map(registry.find, live):
        assert [dump.dump_state(op), dump.dump_table(op)] == live[op.name]
        assert (len(op.table), dump.stale_keys(op)) == (len(RUNTIME_KEYS), [])


@pytest.mark.long
def test_torchgen_registers_the_same() -> None:
    """The kernels, their names, and whether they take symbolic sizes are compared, for both builds."""
    generated = in_a_fresh_process(
        "from truth.observers import torchgen; print(json.dumps(torchgen.Generator().everything()))"
    )
    compiled = {
        key: found for key, found in generated.items() if re.fullmatch(r".*(CPU|CUDA|Meta|HPU)|Z.*|Composite.*", key)
    }
    assert len(compiled) == 22
    for key, found in compiled.items():
        assert set(map(tuple, found)) ^ measured(key) == set(), key


def measured(key: str) -> set[tuple[str, str, int]]:
    """Return operator, function and flags of the snapshot's kernels from ``Register<key>_*.cpp``."""
    found = set()
    for name in pytorch_operators():
        for registered, kernel in pytorch_registrations(name, "cuda"):
            if registered.name == key and re.search(rf"/Register{key}_\d+\.cpp$", kernel.file):
                found.add((name, kernel.name, BOXED | TYPED | UNBOXED * kernel.unboxed))
    return found


# -- lookups that fail ------------------------------------------------------------------------------------------------

LIVE = """
import re, torch
from truth.recorders.dispatch_registrations import normalized
answers = []
for number, (argument, value, keys, raw) in enumerate({cases}):
    library = torch.library.Library(f"ns{{number}}", "DEF")
    library.define(f"op({{argument}}) -> Tensor")
    for key in keys:
        library.impl("op", torch.library.fallthrough_kernel if key[0] == "~" else (lambda x: x), key.strip("~"))
    try:
        operator = getattr(torch.ops, f"ns{{number}}").op.default
        operator.redispatch(torch._C.DispatchKeySet.from_raw_repr(raw), eval(value))
    except (RuntimeError, NotImplementedError) as error:
        text = re.sub("registered at <string>:[0-9]+", "registered at here:0", normalized(str(error)))
        answers.append([type(error).__name__, text.replace(f"ns{{number}}::", "ns::")])
print(json.dumps(answers))
"""


@cache
def live_answers() -> list[tuple[str, str]]:
    """Return the kind and text of the error of each failing lookup in PyTorch."""
    answers: list[tuple[str, str]] = in_a_fresh_process(LIVE.format(cases=FAILING))
    return answers


def model_operator(argument: str, keys: list[str]) -> OperatorEntry:
    """Return the same operator of the model."""
    library = Library("DEF", "ns", None, with_fallbacks(), "here:0")
    op = library.def_(f"op({argument}) -> Tensor")
    for key in keys:
        through = key.startswith("~")
        pointer = "fallthrough" if through else "python"
        function = None if through else lambda op, ks, stack: None
        kernel = Kernel("k", function, "registered at here:0", boxed=True, fallthrough=through, pointer=pointer)
        library.impl("op", kernel, K[key.strip("~")])
    return op


FAILING = [
    ("Tensor x", "torch.ones(1)", [], 0x10001),
    ("Tensor x", "torch.ones(1)", ["CPU"], 0x10002),
    ("Tensor x", "torch.ones(1)", ["CPU"], 0x800002),
    ("Tensor x", "torch.ones(1)", ["CUDA"], 0x10000),
    ("Tensor[] x", "[]", ["CPU"], 0),
    ("Tensor[] x", "[]", ["CPU"], 1),
    ("Tensor x", "torch.ones(1)", ["~CPU"], 0x10001),
    ("Tensor x", "torch.ones(1)", ["CompositeImplicitAutograd", "SparseCPU"], 1 << 55),
    ("Tensor x", "torch.ones(1)", ["CompositeImplicitAutograd", "MkldnnCPU"], 0x800400000),
]
"""Argument and value, keys that have kernels (a fallthrough with ``~``), and the raw key set that is redispatched."""


@pytest.mark.parametrize("number", range(len(FAILING)))
def test_a_failing_lookup_raises_the_error_of_pytorch(number: int) -> None:
    argument, _, keys, raw = FAILING[number]
    kind, text = live_answers()[number]
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        model_operator(argument, keys).redispatch_lookup[raw].function(raw, None)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == text
