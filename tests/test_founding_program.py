"""The question that started the project, end to end: ``examples/forum.py`` on the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.outputs.log.torch_log import torch_log
from dispatchviz.running.program import run
from dispatchviz.testing import assert_kernel_ran, assert_never, assert_subsequence, call, event, redispatch
from dispatchviz.trace import Trace
from tests.cuda_kinds import CUDA_KINDS, cuda_is

FORUM = Path(__file__).parent.parent / "examples/forum.py"

ADD_AND_BACKWARD = """\
 [call] op=[aten::add.Tensor], key=[AutogradCUDA]
  [redispatch] op=[aten::add.Tensor], key=[CUDA]
 [call] op=[aten::sum], key=[AutogradCUDA]
  [redispatch] op=[aten::sum], key=[CUDA]
   [call] op=[aten::sum.dim_IntList], key=[CUDA]
    [call] op=[aten::as_strided], key=[CUDA]
 [call] op=[aten::ones_like], key=[CUDA]
  [call] op=[aten::empty_like], key=[CUDA]
   [call] op=[aten::empty_strided], key=[BackendSelect]
    [redispatch] op=[aten::empty_strided], key=[CUDA]
  [call] op=[aten::fill_.Scalar], key=[CUDA]
 [call] op=[aten::expand], key=[AutogradCUDA]
  [redispatch] op=[aten::expand], key=[ADInplaceOrView]
   [redispatch] op=[aten::expand], key=[CUDA]
    [call] op=[aten::as_strided], key=[CUDA]
 [call] op=[aten::new_empty_strided], key=[AutogradCUDA]
  [redispatch] op=[aten::new_empty_strided], key=[CUDA]
   [call] op=[aten::empty_strided], key=[BackendSelect]
    [redispatch] op=[aten::empty_strided], key=[CUDA]
 [call] op=[aten::copy_], key=[AutogradCUDA]
  [redispatch] op=[aten::copy_], key=[ADInplaceOrView]
   [redispatch] op=[aten::copy_], key=[CUDA]
"""


@pytest.fixture(params=CUDA_KINDS)
def trace(request: pytest.FixtureRequest) -> Trace:
    with cuda_is(request.param):
        return run(str(FORUM)).trace


def test_the_log_from_the_add_on(trace: Trace) -> None:
    log = "".join(f"{line}\n" for line in torch_log(trace))
    assert log[log.index(" [call] op=[aten::add.Tensor]") :] == ADD_AND_BACKWARD


@pytest.mark.parametrize("kind", CUDA_KINDS[1:])
def test_the_trace_is_the_emulated_one_but_for_its_header(kind: str) -> None:
    traces, headers = [], []
    for each in ("emulated", kind):
        with cuda_is(each):
            traces.append(run(str(FORUM)).trace)
            headers.append(traces[-1].header.cuda)
    assert [header.split()[0] for header in headers] == ["emulated", "CuPy"]
    assert list(traces[0]) == list(traces[1])


def test_add_goes_from_autograd_to_the_backend(trace: Trace) -> None:
    assert_subsequence(
        trace,
        [
            event(ev.BindingEntered, function="torch.add", pytorch_function="THPVariable_add"),
            call("aten::add.Tensor", "AutogradCUDA"),
            event(ev.KeySetComputed, effective=0x1000010002),
            event(ev.KernelSelected, key="AutogradCUDA", cell=97, source="Autograd", reason="autograd kernel"),
            event(ev.NodeCreated, name="AddBackward0", sequence_nr=0),
            event(ev.EdgesCollected, edges=((1, 0), None)),
            event(ev.GuardEntered, guard="AutoDispatchBelowADInplaceOrView"),
            redispatch("aten::add.Tensor", "CUDA"),
            event(ev.KernelSelected, key="CUDA", cell=2, kernel="wrapper_CUDA_add_Tensor"),
            event(ev.ImplEntered, function="structured_ufunc_add_CUDA::impl"),
            event(ev.GuardLeft),
            event(ev.HistorySet),
        ],
    )
    assert_kernel_ran(trace, "VariableType::add_Tensor", under="AutogradCUDA")
    assert_kernel_ran(trace, "wrapper_CUDA_add_Tensor", under="CUDA")


def test_the_engine_runs_three_nodes_on_the_devices_thread(trace: Trace) -> None:
    ran = [(e.name, e.thread) for e in trace if isinstance(e, ev.NodeStarted)]
    names = ["SumBackward0", "AddBackward0", "torch::autograd::AccumulateGrad"]
    assert ran == [(name, "pt_autograd_0") for name in names]
    assert_never(trace, event(ev.ErrorRaised))


def test_the_trace_is_the_same_every_time(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "a.jsonl")
    again = run(str(FORUM)).trace
    assert list(again) == list(trace)
