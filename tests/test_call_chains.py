"""PyTorch's call chains as nested logs: the model's against those in ``call_chains.txt``, and both against PyTorch.

``call_chains.txt`` is meant to be read. PyTorch's own steps of the same programs are in ``truth/records``
(``truth/recorders/call_chains.py``), of all but what needs a GPU; the numbers of the CUDA chains follow from the key
sets of CUDA tensors, which ``tests/core/test_worked_examples.py`` compares with measured ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import KernelReturned, KernelSelected, Printed, VersionBumped
from dispatchviz.core.table.pytorch_registrations import pytorch_registry
from dispatchviz.running.program import run
from dispatchviz.testing import assert_never, event
from scripts.write_call_chains import ORDER, PAGE, PROGRAMS, page
from tests.chains import bare_steps, chains, measured, trace_of

EXPECTED = (Path(__file__).parent / "call_chains.txt").read_text(encoding="utf-8")
NEEDS_A_GPU = {"add_cuda"}

pytestmark = [
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # the loop fallback of vmap says so
    pytest.mark.record("call_chains"),
]


def expected(name: str) -> str:
    """Return the log of a program, without the remarks."""
    body = re.split(rf"^## {name}$", EXPECTED, flags=re.MULTILINE)[1].split("\n## ")[0]
    return "".join(f"{line}\n" for line in body.split("\n") if line and not line.startswith("# "))


def written(name: str) -> str:
    """Return the model's log of a program."""
    return "".join(f"{place}\n{indent(log, '  ')}" for place, log in chains(trace_of(name)).items())


def test_every_program_has_its_chain() -> None:
    programs = {path.stem for path in PROGRAMS.glob("*.py")}
    assert programs == set(ORDER) == set(re.findall(r"^## (\w+)$", EXPECTED, re.MULTILINE))
    assert programs - NEEDS_A_GPU == set(measured())


@pytest.mark.parametrize("name", ORDER)
def test_chain_of_kernels_equals_pytorchs(name: str) -> None:
    assert written(name) == expected(name)
    assert_never(trace_of(name), event(ev.ProgramRaised))


@pytest.mark.parametrize("name", [name for name in ORDER if name not in NEEDS_A_GPU])
def test_every_step_equals_pytorchs(name: str) -> None:
    """Compare depth, operator, key, raw key set, thread-local sets, and call or redispatch, also in the program's
    set-up.
    """
    torch = [[step[0], *step[2:8]] for step in measured()[name]["log"]]
    assert list(bare_steps(trace_of(name))) == torch


@pytest.mark.parametrize("name", [name for name in ORDER if name not in NEEDS_A_GPU])
def test_every_cell_equals_pytorchs(name: str) -> None:
    """Compare the reason, and the file in which the kernel is registered."""
    known = measured()[name]["cells"]
    for cell in trace_of(name):
        if isinstance(cell, KernelSelected) and cell.key in known.get(cell.operator, {}):
            file, reason = known[cell.operator][cell.key]
            assert cell.reason == reason, cell
            assert file in cell.registered or cell.operator.startswith("chain"), cell


GUARDS = {
    ("add", "AutoDispatchBelowADInplaceOrView"): "excl 0x3c00000000",
    ("add", "InferenceMode"): "incl -0x400000000 excl 0x3800000000",
    ("add_cuda", "ExcludeDispatchKeyGuard"): "excl 0x4000000000",  # Tracer, while Python values become a tensor
    ("in_place", "AutoDispatchBelowAutograd"): "excl 0x3800000000",
    ("composites", "ExcludeDispatchKeyGuard"): "excl 0x8000000000",  # AutocastCPU, inside its kernel
    ("tracing", "IncludeDispatchKeyGuard"): "incl 0x4000000000",
    ("vmap", "ExcludeDispatchKeyGuard"): "excl 0x2000000000000",  # FuncTorchBatched, inside the batch rule
    ("modes", "Mode"): "incl 0x100000010000000",
    ("custom_operator", "AutoDispatchSkipFunctionalize"): "excl 0x40000000",
}
"""The changes of a guard in a program: added bits, and removed bits with a minus."""


@pytest.mark.parametrize(("name", "guard"), GUARDS)
def test_guard_changes_the_thread_local_sets(name: str, guard: str) -> None:
    entered = [e for e in trace_of(name) if isinstance(e, ev.GuardEntered) and e.guard == guard]
    assert GUARDS[name, guard] in {changed(e) for e in entered}


def changed(guard: ev.GuardEntered) -> str:
    """Return the changes of a guard."""
    sets = (
        ("incl ", guard.included & ~guard.included_before),
        ("incl -", guard.included_before & ~guard.included),
        ("excl ", guard.excluded & ~guard.excluded_before),
        ("excl -", guard.excluded_before & ~guard.excluded),
    )
    return " ".join(f"{word}{keys:#x}" for word, keys in sets if keys)


def test_versions_are_counted_after_the_backend_has_written() -> None:
    trace = trace_of("in_place")
    bumped = [e for e in trace if isinstance(e, VersionBumped)]
    assert [(e.before, e.after) for e in bumped] == [(0, 1), (1, 2)]
    for bump in bumped:
        before = [e for e in trace[: bump.seq] if isinstance(e, KernelReturned)][-1]
        kernel = next(trace.ancestors(before.seq))
        assert getattr(kernel, "kernel", "") == "wrapper_CPU_mul__Tensor"


def test_an_inference_tensor_is_refused_when_it_is_already_written() -> None:
    text = "".join(e.text for e in trace_of("in_place") if isinstance(e, Printed))
    assert text.startswith("Inplace update to inference tensor outside InferenceMode is not allowed.")
    assert text.endswith("[[3.0, 3.0], [3.0, 3.0]]\n")


def test_add_records_a_node_only_if_an_input_requires_grad() -> None:
    """Under no_grad the kernels are the same; in inference mode there is no autograd kernel."""
    trace = trace_of("add")
    made = [e for e in trace if isinstance(e, ev.NodeCreated) and e.name == "AddBackward0"]
    assert [e.why for e in trace if isinstance(e, ev.NoNodeMade)] == ["grad mode is off"]
    assert len(made) == 4


def test_second_run_gives_the_same_trace() -> None:
    for name in ("vmap", "custom_operator", "modes"):
        again = run(str(PROGRAMS / f"{name}.py")).trace
        assert list(again) == list(trace_of(name))


def test_add_on_cuda_in_a_cpu_build() -> None:
    """The cell of a CPU build has the kernel of an alias, which would compute the shape and call add.out."""
    cell = pytorch_registry("cpu").find("aten::add.Tensor").compute(DispatchKey.CUDA)
    assert (cell.reason, cell.kernel.name) == (
        "default backend kernel",
        "wrapper_CompositeExplicitAutogradNonFunctional_add_Tensor",
    )


def test_randn_on_cuda_in_a_cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """BackendSelect and randn's own kernel still run; ``empty`` has none for CUDA."""
    monkeypatch.setenv("DISPATCHVIZ_BUILD", "cpu")
    program = "from dispatchviz import torch; torch.ops.aten.randn.default([2], device='cuda')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=PROGRAMS.parent.parent)
    says = "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend."
    assert says in ended.stderr


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m scripts.write_call_chains writes it anew"
