"""Other releases (``make test-releases``): their own keys and tables, kernels that they keep."""

from __future__ import annotations

import threading
from io import StringIO
from pathlib import Path

import pytest
from msgspec import UNSET

from dispatchviz import Trace
from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.record import events as ev
from dispatchviz.explain.cells.computed_table import SKIPPED
from dispatchviz.explain.cells.recorded_table import kept_rows
from dispatchviz.explain.keys.key_layouts import layout_of
from dispatchviz.explain.keys.own_numbers import own_cell, own_shown
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.installed_torch import DESCRIBED, installed_torch, release
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.key_numbers import OURS, KeyNumbers, key_layout
from dispatchviz.live.registration import UNKNOWN_FILE, filled_cells
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from tests.live.live_programs import PROGRAMS
from tests.live.test_quiet import run

pytestmark = pytest.mark.torch

PROGRAM = """
import threading, torch
def rows():
    return sum(": registered at {file}:0 ::" in row for row in torch.own_dump("aten::mul.Tensor").splitlines())
found = [rows()]
for _ in range({threads}):
    thread = threading.Thread(target=lambda: found.append(rows()))
    thread.start()
    thread.join()
    found.append(rows())
print(*[count > 0 for count in found])
"""


def test_no_kernel_is_watched_while_a_thread_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program also finds PyTorch and ``threading`` in their usual state."""
    torch = installed_torch()
    if hands_out_kernels(torch._C):
        pytest.skip("kernels stay in their cells")
    # While a program is recorded, PyTorch's own function leaves our kernels out (``plain_queries.py``).
    monkeypatch.setattr(torch, "own_dump", torch._C._dispatch_dump, raising=False)
    file, output, before = tmp_path / "threads.py", StringIO(), dict(vars(threading))
    file.write_text(PROGRAM.format(file=UNKNOWN_FILE, threads=4))
    program.run(str(file), output=output, engine=engine_named("torch"))
    assert output.getvalue().split() == ["True", *["False", "True"] * 3, "False", "False"]
    assert {name: vars(threading)[name] for name in before} == before


# -- the release's own numbers and tables ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return a program with many keys, recorded, saved and read."""
    folder = tmp_path_factory.mktemp("numbers")
    file, saved = folder / "program.py", folder / "program.dvtrace"
    file.write_text(PROGRAMS["views"] + PROGRAMS["vmap"] + PROGRAMS["meta and complex"] + PROGRAMS["autocast"])
    program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace.save(saved)
    return Trace.load(saved)


def is_described() -> bool:
    """Return whether the installed release is the one that dispatchviz describes."""
    return release(installed_torch().__version__) == DESCRIBED


def test_the_layout_is_that_of_the_releases_header() -> None:
    layout, known = key_layout(installed_torch()._C), layout_of(installed_torch().__version__)
    if known is None:
        pytest.skip("no header of this release was read")
    assert (layout.backends, layout.keys) == (known.backends, known.keys)


def test_keys_decide_in_the_releases_own_order() -> None:
    """This holds for any two keys. NB: no set has Fake, the only key with another place in the order."""
    c = installed_torch()._C
    numbers, layout = KeyNumbers(c), key_layout(c)
    known = [number for number, key in enumerate(layout.keys, 1) if key in OURS.keys and key != "Fake"]
    of_keys = [c.DispatchKeySet(c.DispatchKey(number)) for number in known]
    sets = [one | other | c.DispatchKeySet(c.DispatchKey.CPU) for one in of_keys for other in of_keys]
    told = [c._dispatch_key_name(one.highestPriorityTypeId()) for one in sets]
    assert [str(highest(numbers[one.raw_repr()])) for one in sets] == told


def test_sets_are_shown_as_the_release_has_them(trace: Trace) -> None:
    torch = installed_torch()
    c, x = torch._C, torch.ones(2, 2)
    tensors = [x, x.cfloat().conj(), x.to_sparse(), x.to("meta")]
    with torch.inference_mode():
        tensors += [torch.ones(1)]
    for keys in map(c._dispatch_keys, tensors):
        names = c._dispatch_keyset_to_string(keys).removeprefix("DispatchKeySet(").removesuffix(")").split(", ")
        ours = KeyNumbers(c)[keys.raw_repr()]
        assert own_shown(trace.header, ours) == f"{keys.raw_repr():#x} ({', '.join(reversed(names))})"


def test_cells_are_those_of_the_releases_own_table(trace: Trace) -> None:
    """Every cell of every called operator agrees with the release's own dump."""
    build = InstalledPyTorch()
    if is_described():
        assert trace.header.tables is UNSET
        return
    for name in {trace[step].operator for step in trace.steps_of(ev.KernelSelected)}:
        dumped = filled_cells(build.torch._C._dispatch_dump_table(name))
        rows = kept_rows(trace.header, name)
        assert [row.key for row in rows] == ["Undefined", *build.keys]
        assert {row.key: (row.registered, row.reason, row.state == SKIPPED) for row in rows if row.reason} == {
            key: (build.location(debug), reason, is_skipped) for key, (debug, reason, is_skipped) in dumped.items()
        }


def test_a_call_is_at_its_cell_of_that_table(trace: Trace) -> None:
    for event in (trace[step] for step in trace.steps_of(ev.KernelSelected)):
        cell = own_cell(trace.header, event.key, event.cell)
        assert label(trace, event.seq).startswith(f"cell {cell} {event.key}: ")
        if not is_described():
            row = kept_rows(trace.header, event.operator)[cell]
            assert (row.key, row.kernel, row.reason) == (event.key, event.kernel, event.reason)


def test_differences_of_a_release_are_named(trace: Trace) -> None:
    c = installed_torch()._C
    layout, differs = key_layout(c), " ".join(trace.header.differs or ())
    assert {key for key in layout.keys if f" {key}" in differs} >= {*layout.keys} - {*OURS.keys}
    assert {key for key in OURS.keys if f" {key}" in differs} >= {*OURS.keys} - {*layout.keys}
    assert (trace.header.layout is UNSET) == KeyNumbers(c).is_own
    assert bool(differs) or KeyNumbers(c).is_own


LACKING = {
    "different key sets with the same highest key",
    "The thread's excluded set has AutocastMAIA and AutocastMTIA in the model, no keys in PyTorch.",
}
"""The sentence of ``check`` if a release does not have all keys."""
ADDED = "only in PyTorch: tensor t11  [3] float32 cpu"
"""The result of a ``detach``, which AccumulateGrad took twice in earlier releases."""


def test_another_release_does_what_the_model_does(tmp_path: Path) -> None:
    """The founding program runs alike, wherever a release registers its kernels, except as documented."""
    file = tmp_path / "founding.py"
    file.write_text(PROGRAMS["founding"])
    status, said, errors = run("-m", "dispatchviz", "check", file)
    assert "tensor([ 6.,  9., 12.])" in errors  # the program's output
    lacks_keys = not {*OURS.keys} <= {*key_layout(installed_torch()._C).keys}
    differing = {line.strip() for line in said.splitlines() if line.startswith(6 * " ")}
    if release(installed_torch().__version__) >= DESCRIBED:
        assert (status, "did the same as the model" in said, differing) == (0, True, set())
    else:
        assert differing <= {ADDED, *(LACKING if lacks_keys else ())}


# -- operators without a schema ----------------------------------------------------------------------------------------

KERNEL_ALONE = """
import torch
library = torch.library.Library("dispatchviz_alone", "FRAGMENT")
library.impl("kernel", lambda x: x, "CPU")
library.impl("kernel", lambda x: x, "Meta")
print(torch.ones(2, device="meta") + 1, torch.ones(2) + 1)
library.define("kernel(Tensor x) -> Tensor")
print(torch.ops.dispatchviz_alone.kernel(torch.ones(1)))
library._destroy()
"""


def test_an_operator_without_a_schema_has_no_cells(tmp_path: Path) -> None:
    """A kernel may be registered before its operator, and builds with Vulkan have one for an operator that is never
    defined.
    """
    file, output = tmp_path / "alone.py", StringIO()
    file.write_text(KERNEL_ALONE)
    trace = program.run(str(file), output=output, engine=engine_named("torch")).trace
    assert output.getvalue().splitlines()[-1] == "tensor([1.])"
    assert "dispatchviz_alone::kernel" in {trace[step].operator for step in trace.steps_of(ev.KernelSelected)}
