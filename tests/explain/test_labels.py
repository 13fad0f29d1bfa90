"""The rows of the event list."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.kinds.kind import WIDTH
from tests.steps import inside, line, step

from .founding import founding
from .programs import traced

ADD = """\
line 6  z = torch.add(x, y)
torch.add(x, y)
call aten::add.Tensor → AutogradCUDA
key set 0x1000010002
skipped ADInplaceOrView, BackendSelect
cell 97 AutogradCUDA: VariableType::add_Tensor
kernel VariableType::add_Tensor
Node AddBackward0, seq 0
Node AccumulateGrad (x)
AccumulateGrad (x) belongs to x
edges self → AccumulateGrad (x), other empty
saves alpha = 1
guard AutoDispatchBelowADInplaceOrView
redispatch aten::add.Tensor → CUDA
cell 2 CUDA: wrapper_CUDA_add_Tensor
kernel wrapper_CUDA_add_Tensor
structured_add_Tensor::meta
tensor z (t2)  [2, 2] float32 cuda:0
set_output_raw_strided: z (t2) [2, 2] float32 (functional)
structured_ufunc_add_CUDA::impl → z (t2)
returns z (t2)
guard AutoDispatchBelowADInplaceOrView ends
z (t2).grad_fn = AddBackward0
returns z (t2)
z = t2"""


def test_the_rows_of_the_add() -> None:
    trace = founding()
    assert "\n".join(label(trace, seq) for seq in inside(trace, line(trace, 6))) == ADD


def test_the_rows_of_the_backward() -> None:
    trace = founding()
    assert [label(trace, seq) for seq in inside(trace, step(trace, ev.BackwardStarted))][:9] == [
        "backward from SumBackward0",
        "grad mode off (backward without create_graph)",
        "2 edges counted",
        "SumBackward0 is ready",
        "run SumBackward0, seq 1",
        "tensor t5  [2, 2] float32 cuda:0",
        "SumBackward0 done",
        "AddBackward0 is ready",
        "run AddBackward0, seq 0",
    ]


def test_rows_are_short() -> None:
    trace = founding()
    assert max(len(label(trace, event.seq)) for event in trace) <= WIDTH


def test_a_hook_with_a_long_name_has_a_short_row() -> None:
    name = "hook" * 50
    trace = traced(f"""
    import torch
    def {name}(gradient):
        return gradient
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook({name})
    x.sum().backward()
    handle.remove()
    """)
    rows = [label(trace, step(trace, kind)) for kind in (ev.HookRegistered, ev.HookRan, ev.HookRemoved)]
    assert [len(row) for row in rows] == [WIDTH] * 3


THREAD = """\
import threading
import torch
x = torch.ones(2, requires_grad=True)
def forward():
    return x * 2
thread = threading.Thread(target=forward)
thread.start()
thread.join()
"""


def test_a_node_of_another_thread_says_so() -> None:
    trace = traced(THREAD)
    made = [event for event in trace if isinstance(event, ev.NodeCreated)]
    number = made[0].thread
    assert number != 1
    assert [label(trace, event.seq) for event in made] == [
        f"Node MulBackward0, seq 0, thread {number}",
        f"Node AccumulateGrad (x), thread {number}",
    ]
    assert f"sequence number 0 of thread {number}, which counts its own." in why_here(trace, made[0].seq)
