"""The Python keys in the dispatcher: chains and key sets as raw integers, and the trace of handlers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.torch.utils._python_dispatch import TorchDispatchMode
from dispatchviz.trace import Trace

IN_A_MODE, DEFAULT = 0x100000414000000, 0x404000000
ABOVE_PYTHON, NOT_AUTOCAST = 0x1FFFFFFFE0000000, 0x1FF8000000000

Dispatches = list[tuple[str, str, str]]


class Passing(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    """A tensor that holds another tensor."""

    elem: Any

    @staticmethod
    def __new__(cls: Any, elem: Any, device: str = "cpu") -> Any:
        wrapper = torch.Tensor._make_wrapper_subclass(cls, elem.size(), device=device, requires_grad=elem.requires_grad)
        wrapper.elem = elem.detach()
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        values = [a.elem if isinstance(a, cls) else a for a in args]
        return cls(func(*values, **(kwargs or {})), next(a.device for a in args if isinstance(a, cls)))


def dispatches(trace: Trace) -> Dispatches:
    return [(e.how, e.key, hex(e.key_set)) for e in trace if isinstance(e, ev.Dispatched)]


def of_kind(trace: Trace, kind: type[ev.Event]) -> list[Any]:
    return [event for event in trace if isinstance(event, kind)]


def added(a: Any, b: Any) -> Trace:
    with dispatchviz.record() as trace, Passing():
        torch.add(a, b)
    return trace


def test_add_under_a_mode_reaches_its_handler() -> None:
    """Reference 10.10, and the worked example of 5.5."""
    trace = added(torch.ones(2), torch.ones(2))
    assert dispatches(trace) == [
        ("call", "PythonTLSSnapshot", "0x100001010010001"),
        ("redispatchBoxed", "AutogradCPU", "0x1010010001"),
        ("redispatch", "Python", "0x10010001"),
        ("callBoxed", "CPU", "0x10001"),
    ]
    computed = of_kind(trace, ev.KeySetComputed)[0]
    assert computed.united == 0x9400010001
    assert computed.with_included == 0x100009414010001
    assert computed.without_excluded == 0x100001414010001


def test_in_place_under_a_mode_runs_the_adinplaceorview_kernel() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace, Passing():
        x.mul_(x)
    assert [key for _, key, _ in dispatches(trace)] == [
        "PythonTLSSnapshot", "AutogradCPU", "ADInplaceOrView", "Python", "CPU",
    ]  # fmt: skip
    assert x._version == 1


def test_nested_modes_run_autograd_once() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace, Passing(), Passing():
        torch.add(x, x)
    assert dispatches(trace) == [
        ("call", "PythonTLSSnapshot", "0x100001010010001"),
        ("redispatchBoxed", "AutogradCPU", "0x1010010001"),
        ("redispatch", "Python", "0x10010001"),
        ("callBoxed", "Python", "0x10010001"),
        ("callBoxed", "CPU", "0x10001"),
    ]
    inner, outer = of_kind(trace, ev.TorchDispatchEntered)
    assert (inner.included, inner.modes_left, outer.included, outer.modes_left) == (IN_A_MODE, 1, DEFAULT, 0)


def test_wrapper_on_cuda_reaches_its_handler() -> None:
    a = Wrapper(torch.ones(2), "cuda")
    with dispatchviz.record() as trace:
        result = a + a
    assert a._ks == 0x100801410010002
    assert dispatches(trace)[:4] == [
        ("call", "PythonTLSSnapshot", "0x100001010010002"),
        ("redispatchBoxed", "AutogradCUDA", "0x1010010002"),
        ("redispatch", "Python", "0x10010002"),
        ("callBoxed", "CPU", "0x10001"),
    ]
    assert type(result) is Wrapper
    assert str(result.device) == "cuda"


def test_wrapper_on_cuda_gets_a_gradient() -> None:
    """PyTorch's CPU build ends the process here, so there is no comparison."""
    a = Wrapper(torch.ones(2, requires_grad=True), "cuda")
    (a * a).sum().backward()
    assert type(a.grad) is Wrapper
    assert a.grad.elem.tolist() == [2.0, 2.0]


def test_trace_names_the_handler() -> None:
    trace = added(torch.ones(2), torch.ones(2))
    (entered,) = of_kind(trace, ev.TorchDispatchEntered)
    assert (entered.kind, entered.handler, entered.function) == ("mode", "Passing", "aten.add.Tensor")
    assert (entered.included, entered.excluded, entered.modes_left) == (DEFAULT, ABOVE_PYTHON, 0)
    assert entered.arguments == (("args[0]", "t0"), ("args[1]", "t1"))
    (left,) = of_kind(trace, ev.TorchDispatchLeft)
    assert left.parent == entered.seq
    assert left.tensors == (2,)
    inside = [e for e in trace if isinstance(e, ev.Dispatched) and entered in list(trace.ancestors(e.seq))]
    assert [e.key for e in inside] == ["CPU"]


def test_trace_shows_a_subclass_that_declines() -> None:
    class Declining(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    class Taking(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.zeros(2)

    one, two = torch.ones(2).as_subclass(Declining), torch.ones(2).as_subclass(Taking)
    with dispatchviz.record() as trace:
        torch.add(one, two)
    asked = of_kind(trace, ev.TorchDispatchEntered)
    assert [(e.kind, e.handler, e.types) for e in asked] == [
        ("subclass", name, ("Declining", "Taking")) for name in ("Declining", "Taking")
    ]
    assert [e.not_implemented for e in of_kind(trace, ev.TorchDispatchLeft)] == [True, False]


def test_handler_events_have_these_sentences() -> None:
    trace = added(torch.ones(2), torch.ones(2))
    reasons = [why_here(trace, e.seq) for e in trace if isinstance(e, ev.TorchDispatchEntered | ev.TorchDispatchLeft)]
    assert reasons[0] == (
        "The mode Passing gets aten.add.Tensor in its __torch_dispatch__, because the keys above Python have been "
        "handled. The mode is off the mode stack meanwhile, so its calls on plain tensors go straight to the "
        "backend."
    )
    assert reasons[1].startswith("The __torch_dispatch__ of Passing is done and returns")
    guards = [why_here(trace, e.seq) for e in of_kind(trace, ev.GuardEntered)]
    assert any("a dispatch mode is on, and every call must reach it" in text for text in guards)
    assert any("the keys above Python have already been handled" in text for text in guards)
    assert any("a mode does not see what its own handler calls" in text for text in guards)


def test_key_sets_are_restored_after_an_error() -> None:
    class Raising(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Raising():
        torch.add(torch.ones(2), 1)
    state = thread.state
    assert (state.included, state.excluded, state.modes, state.tls_on_entry) == (DEFAULT, NOT_AUTOCAST, (), None)


def test_recording_does_not_change_results() -> None:
    def run() -> list[float]:
        a = Wrapper(torch.tensor([1.0, 2.0], requires_grad=True))
        with Passing():
            (a.exp() * a).sum().backward()
        found: list[float] = a.grad.elem.tolist()
        return found

    plain = run()
    with dispatchviz.record():
        assert run() == plain


@pytest.mark.long
def test_recording_keeps_no_wrapper_alive() -> None:
    def used() -> Any:
        wrapper = Wrapper(torch.ones(2))
        wrapper + wrapper
        return weakref.ref(wrapper)

    with dispatchviz.record():
        reference = used()
        gc.collect()
        assert reference() is None


def test_python_dispatcher_runs_at_every_level() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace, torch._C._EnablePythonDispatcher():
        torch.add(x, x)
    log = [(key, keys) for how, key, keys in dispatches(trace)]
    assert log == [
        ("PythonDispatcher", "0x2000001000010001"),
        ("PythonDispatcher", "0x2000001000010001"),
        ("PythonDispatcher", "0x2000000000010001"),
        ("PythonDispatcher", "0x2000000000010001"),
    ]
    assert [e.kernel for e in of_kind(trace, ev.KernelEntered)] == [
        "pythonDispatcherFallback",
        "VariableType::add_Tensor",
        "pythonDispatcherFallback",
        "wrapper_CPU_add_Tensor",
    ]


def test_pre_dispatch_only_redispatches() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace, torch._C._EnablePreDispatch():
        torch.add(x, x)
    assert [key for _, key, _ in dispatches(trace)] == ["PreDispatch", "AutogradCPU", "CPU"]


@pytest.mark.parametrize(
    "shape_of", [lambda x: x * 3, lambda x: x.view(2), lambda x: x.sum()], ids=["mul", "view", "sum"]
)
def test_handler_returning_none_in_backward_gives_an_undefined_gradient(shape_of: Any) -> None:
    """The leaf gets no gradient, as in PyTorch."""

    class Nothing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return None

    x = torch.ones(1, 2, requires_grad=True)
    y = shape_of(x)
    y.backward(torch.Tensor._make_wrapper_subclass(Nothing, y.shape))
    assert x.grad is None
