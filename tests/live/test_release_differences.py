"""Sentences about PyTorch 2.14 in a recording of another release, at the steps where the two differ."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import msgspec
import pytest

from dispatchviz import Trace
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Filling, KeptTables
from dispatchviz.explain.calls.operator_cells import cells_of
from dispatchviz.explain.cells.release_differences import (
    differing_entries,
    entry_difference,
    release_differences,
)
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.installed_torch import DESCRIBED, installed_torch, release
from dispatchviz.live.registration import UNKNOWN_FILE, Registration, filled_cells, place_in
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from tests.live.live_programs import PROGRAMS

PROGRAM = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * x\n"
MUL = "aten::mul.Tensor"


def later(schemas: dict[str, str] | None = None, **changed: Filling) -> Trace:
    """Return a run that claims to be a recording of PyTorch 2.15.0, whose table of ``mul`` has some changed entries."""
    trace = run(Code(PROGRAM)).trace
    cells = cells_of(MUL, "cpu")
    fillings = tuple(
        changed.get(cell.key, Filling(cell.kernel, cell.reason if cell.kernel else "", cell.source, cell.registered))
        for cell in cells
    )
    tables = KeptTables(fillings, {MUL: tuple(range(len(cells)))}, schemas or {})
    header = msgspec.structs.replace(
        trace.header,
        engine="torch",
        pytorch="2.15.0+cpu",
        build="PyTorch 2.15.0+cpu, CPU build, release",
        tables=tables,
    )
    return Trace(header, tuple(trace))


def said(trace: Trace, key: str) -> str:
    """Return the sentence on an entry of ``mul``."""
    (row,) = (row for row in differing_entries(trace.header, MUL).values() if row[0].key == key)
    return " ".join(one.text for one in entry_difference(trace.header, MUL, key, row[0].registered))


OWN = Filling("wrapper_CPU_mul_Tensor", "kernel", "CPU", "registered at build/aten/src/ATen/RegisterSomewhere_1.cpp:3")
ALIAS = Filling("mul", "math kernel", "CompositeImplicitAutograd", "registered at aten/src/ATen/new.cpp:3")


def test_equal_tables_say_nothing() -> None:
    assert [*release_differences(later())] == []
    assert differing_entries(later().header, MUL) == {}


def test_kernel_from_another_file_names_both_files() -> None:
    trace = later(CPU=OWN)
    assert said(trace, "CPU") == (
        "In PyTorch 2.15.0, the CPU entry of aten::mul.Tensor holds the kernel for CPU from "
        "build/aten/src/ATen/RegisterSomewhere.cpp; in PyTorch 2.14 it holds the kernel for CPU from "
        "build/aten/src/ATen/RegisterCPU.cpp."
    )


def test_kernel_of_another_alias_is_named() -> None:
    assert "holds the kernel for CompositeImplicitAutograd from aten/src/ATen/new.cpp; in PyTorch 2.14" in said(
        later(CPU=ALIAS), "CPU"
    )


def test_empty_entry_is_named() -> None:
    assert "the CPU entry of aten::mul.Tensor is empty; in PyTorch 2.14 it holds" in said(later(CPU=Filling()), "CPU")


@pytest.mark.parametrize(
    "place", ["/home/me/ops.py:3", "torchvision/csrc/ops.cpp:3", "torch/_native/registry.py:3", "torch/mine/later.py:3"]
)
def test_kernel_that_need_not_be_pytorchs_is_no_difference(place: str) -> None:
    """NB: a program, an extension or Triton may register kernels, and so may a file that a program imports."""
    changed = msgspec.structs.replace(OWN, registered=f"registered at {place}")
    assert differing_entries(later(CPU=changed).header, MUL) == {}


def test_release_that_prints_no_files_has_no_other_files() -> None:
    changed = msgspec.structs.replace(OWN, registered=f"registered at {UNKNOWN_FILE}:0")
    assert differing_entries(later(CPU=changed).header, MUL) == {}


def test_other_schema_is_named_at_the_call_and_in_the_log() -> None:
    schema = "aten::mul.Tensor(Tensor input, Tensor other) -> Tensor"
    trace = later({MUL: schema})
    sentence = "In PyTorch 2.15.0, the schema of aten::mul.Tensor has Tensor input; in PyTorch 2.14 it has Tensor self."
    call = next(step for step in trace.steps_of(ev.Dispatched) if getattr(trace[step], "operator", "") == MUL)
    assert why_here(trace, call).endswith(sentence)
    log = [*text_log(trace)]
    assert log[log.index("differences from PyTorch 2.14:") + 1] == f"  {sentence}"


def test_operator_that_the_model_lacks_is_named() -> None:
    trace = later({"aten::later": "aten::later(Tensor self) -> Tensor"})
    tables = msgspec.structs.replace(trace.header.tables, operators={"aten::later": ()})
    trace = Trace(msgspec.structs.replace(trace.header, tables=tables), tuple(trace))
    assert [*release_differences(trace)] == ["PyTorch 2.14 does not have aten::later."]


# -- the installed release ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded() -> Trace:
    """Return a recording of the installed release with many keys."""
    program = PROGRAMS["views"] + PROGRAMS["vmap"] + PROGRAMS["meta and complex"] + PROGRAMS["autocast"]
    return run(Code(program + ON_META), output=StringIO(), engine=engine_named("torch")).trace


ON_META = """
torch.stack([torch.ones(2, device="meta")])
torch.cdist(torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)).sum().backward()
"""


def dumped(build: InstalledPyTorch, operator: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, reason and file of the entries in the release's own dump."""
    table = filled_cells(build.torch._C._dispatch_dump_table(operator))
    for key, (debug, reason, _) in table.items():
        yield key, reason, Registration(key, "boxed", place_in(build.location(debug))).file


@pytest.mark.torch
def test_entries_that_differ_are_those_of_the_releases_own_dump(recorded: Trace) -> None:
    """Every entry that is named differs in the dump, and every entry of C++ that differs there is named."""
    build, found = InstalledPyTorch(), dict[tuple[str, str], bool]()
    tables = recorded.header.tables
    if release(installed_torch().__version__) == DESCRIBED:
        assert isinstance(tables, msgspec.UnsetType)
        return
    assert not isinstance(tables, msgspec.UnsetType)
    for operator in tables.operators:
        ours = {
            cell.key: cell for cell in cells_of(operator, "cpu" if "CPU build" in recorded.header.build else "cuda")
        }
        named = differing_entries(recorded.header, operator)
        for key, reason, file in dumped(build, operator):
            if (there := ours.get(key)) is None:
                continue
            model = Registration(key, "boxed", place_in(there.registered)).file
            differs = there.reason != reason or (file != model and UNKNOWN_FILE not in (file, model))
            found[operator, key] = (key in named) == differs or (differs and file.endswith(".py"))
    assert len(found) > 1000
    assert [entry for entry, alike in found.items() if not alike] == []


@pytest.mark.torch
def test_changes_since_2_13_are_named(recorded: Trace) -> None:
    if release(installed_torch().__version__) != (2, 13):
        pytest.skip("another release")
    differences = " ".join(release_differences(recorded))
    assert (
        "the schema of aten::_cdist_backward has Tensor grad; in PyTorch 2.14 it has Tensor grad_output" in differences
    )
    assert "the Meta entry of aten::stack holds the kernel for Meta from torch/_meta_registrations.py" in differences
