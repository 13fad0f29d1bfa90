"""The lines of ``TORCH_SHOW_DISPATCH_TRACE=1``."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.outputs.log.torch_log import torch_log


def test_a_space_per_nesting_level_whatever_lies_between() -> None:
    events: list[ev.AnyEvent] = [
        ev.SourceLine(0, None, "a.py", 1),
        ev.Dispatched(1, 0, "call", "aten::add.Tensor", 0x1000010002, "AutogradCUDA"),
        ev.KernelEntered(2, 1, "VariableType::add_Tensor", "", 0x1000010002, "", 0, 0),
        ev.GuardEntered(3, 2, "AutoDispatchBelowADInplaceOrView", 0, 0, 0, 0),
        ev.Dispatched(4, 3, "redispatch", "aten::add.Tensor", 0x10002, "CUDA"),
        ev.Dispatched(5, 2, "redispatchBoxed", "aten::sum", 0x10002, "CUDA"),
        ev.Dispatched(6, 0, "callBoxed", "aten::neg", 0x10002, "CUDA"),
    ]
    assert "\n".join(torch_log(Trace(Header(cuda="CuPy", program="a.py"), events))) == (
        """\
 [call] op=[aten::add.Tensor], key=[AutogradCUDA]
  [redispatch] op=[aten::add.Tensor], key=[CUDA]
  [redispatchBoxed] op=[aten::sum], key=[CUDA]
 [callBoxed] op=[aten::neg], key=[CUDA]"""
    )


def test_nothing_dispatched_is_no_line() -> None:
    assert list(torch_log(Trace(Header(cuda="CuPy", program="a.py"), []))) == []
