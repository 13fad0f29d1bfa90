"""An exception from anywhere, as Ctrl+C raises it, leaves the thread as it was.

CPython checks for signals where a function begins, after calls and where a loop iteration begins. Each program runs
once for each place that it passes: the beginning of every function, and, in the modules that change the thread's state,
also before each call. KeyboardInterrupt is raised there.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

import dispatchviz.torch as torch
from dispatchviz.core.autograd.engine import engine
from dispatchviz.core.seam.process_modes import process_modes
from dispatchviz.core.thread import thread_state
from dispatchviz.torch.utils.checkpoint import checkpoint

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
"""Python only reports an exception that interrupts a generator that is being closed."""

PACKAGE = str(Path(thread_state.__file__).parents[1])
OF_STATE = (
    "core/thread/guards.py",
    "core/kernel/guarded_redispatch.py",
    "core/kernel/recorded_kernels.py",
    "core/generated/guarded_calls.py",
    "core/generated/recorded_calls.py",
    "core/bindings/binding.py",
    "core/call/dispatcher.py",
    "core/thread/thread_state.py",
    "core/bindings/torch_function.py",
    "core/python_side/dispatch_modes.py",
    "core/python_side/python_fallback.py",
    "core/layers/autocast/autocast_mode.py",
    "core/autograd/engine/engine.py",
    "core/autograd/function/custom_function.py",
    "core/layers/functorch/dynamic_layer.py",
    "core/layers/functorch/interpreter.py",
)
CHECKS = ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD")
"""Instructions after which CPython checks for signals. RESUME, where a function begins, has its own event in the
trace.
"""


@functools.cache
def _checks(code: CodeType) -> frozenset[int]:
    return frozenset(i.offset for i in dis.get_instructions(code) if i.opname in CHECKS)


class Interrupter:
    """A trace function that raises KeyboardInterrupt at the n-th place, counting from 0."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.place = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        self._pass(frame)
        if not frame.f_code.co_filename.endswith(OF_STATE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._inside

    def _inside(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti in _checks(frame.f_code):
            self._pass(frame)
        return self._inside

    def _pass(self, frame: FrameType) -> None:
        self.left -= 1
        if self.left == -1:
            self.place = f"{frame.f_code.co_filename[len(PACKAGE) + 1 :]}:{frame.f_lineno} {frame.f_code.co_qualname}"
            raise KeyboardInterrupt


@contextmanager
def _tracing(tracer: Any) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)


def _everything() -> dict[str, Any]:
    state = thread_state.thread.state
    fields = {name: getattr(state, name) for name in state.__slots__ if name != "sequence_nr"}
    return {
        **{name: list(value) if isinstance(value, list) else value for name, value in fields.items()},
        "state": id(state),
        "modes of the process": {mode: count for mode, count in process_modes.counts.items() if count},
        "hot functions": [getattr(row.owner, row.name) for row in process_modes.table],
        "depth": engine._worker.depth,
    }


def _reference() -> tuple[Any, ...]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x + 1).sum()
    name = y.grad_fn.name()
    y.backward()
    x.data.add_(1)
    return name, x.grad.tolist(), x.tolist(), torch.vmap(lambda t: t * 2)(torch.ones(2)).tolist()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x


def _leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _add() -> None:
    _leaf() + 1


def _in_place() -> None:
    torch.ones(2).add_(1)


def _factory() -> None:
    torch.zeros(2, requires_grad=True)


def _backward() -> None:
    x = _leaf()
    (x * x).sum().backward()


def _second_order() -> None:
    x = _leaf()
    (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    torch.autograd.grad(g.sum(), x)


def _function() -> None:
    Square.apply(_leaf()).sum().backward()


def _torch_ops() -> None:
    torch.ops.aten.mul.Tensor(_leaf(), torch.ones(2))


def _view() -> None:
    x = torch.ones(2, 2, requires_grad=True) * 1
    x.T[0].mul_(2)


MACHINE = (_add, _in_place, _factory, _backward, _second_order, _function, _torch_ops, _view)
"""Operations that PyTorch implements in C++, where guards cannot be interrupted."""


def _no_grad() -> None:
    with torch.no_grad():
        _leaf().add_(1)


def _inference() -> None:
    with torch.inference_mode():
        _leaf().mul(2)


def _autocast() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.ones(2, 2) @ torch.ones(2, 2, requires_grad=True)


def _vmap() -> None:
    torch.vmap(lambda t: (t * 2).sum())(torch.ones(2, 2))


def _grad() -> None:
    torch.func.grad(lambda t: t.sum())(torch.ones(2))


def _checkpoint() -> None:
    checkpoint(lambda t: t * t, _leaf(), use_reentrant=False).sum().backward()


def _saved_hooks() -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = _leaf().exp()
    y.sum().backward()


def _mode() -> None:
    from dispatchviz.torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Mode():
        _leaf() * 2


PYTHONS = (_no_grad, _inference, _autocast, _vmap, _grad, _checkpoint, _saved_hooks, _mode)
"""Operations that PyTorch implements in Python, with statements of its own."""


def _interrupted(program: Callable[[], None], at: int) -> str:
    """The place of the interruption; empty if the program passed fewer places."""
    tracer = Interrupter(at)
    try:
        with _tracing(tracer):
            program()
    except KeyboardInterrupt:
        pass
    return tracer.place


def _broken(program: Callable[[], None]) -> tuple[int, list[str]]:
    """The number of places, and those after which the thread's state had changed."""
    program()
    before, expected = _everything(), _reference()
    number, broken = 0, []
    while place := _interrupted(program, number):
        after = _everything()
        if after != before:
            broken.append(f"{place}: {[name for name in before if after[name] != before[name]]}")
            _mend(before)
        number += 1
    assert _reference() == expected
    return number, broken


def _mend(before: dict[str, Any]) -> None:
    state = thread_state.thread.state
    for name in state.__slots__:
        if name != "sequence_nr":
            setattr(state, name, before[name])
    process_modes.exchange(before["modes of the process"])


@pytest.mark.parametrize("program", MACHINE, ids=lambda program: program.__name__)
def test_interrupt_at_any_place_restores_the_thread(program: Callable[[], None]) -> None:
    places, broken = _broken(program)
    print(f"{places} places")
    assert broken == []
    assert places > 50


BEGINNINGS = {
    "no_grad": "_GradMode.__exit__",
    "inference_mode": "inference_mode.__exit__",
    "autocast": "restores_state_at_exit.<locals>.__exit__",
    "saved_tensors_hooks": "saved_tensors_hooks.__exit__",
    "TorchDispatchMode": "TorchDispatchMode.__exit__",
}
"""The places where an ``__exit__`` begins, where nothing can be restored yet. PyTorch's are Python functions too, but
have no other place like them.
"""


@pytest.mark.parametrize("program", PYTHONS, ids=lambda program: program.__name__)
def test_block_stays_open_only_if_its_python_exit_is_interrupted(program: Callable[[], None]) -> None:
    places, broken = _broken(program)
    print(f"{places} places")
    assert [place for place in broken if not place.split(":")[1].endswith(tuple(BEGINNINGS.values()))] == []
    assert len(broken) <= 2
    assert places > 200


@pytest.mark.torch
def test_pytorchs_exits_are_python_functions_too() -> None:
    import torch as real
    from torch import amp, autograd
    from torch.utils import _python_dispatch

    exits = {
        "no_grad": real.no_grad.__exit__,
        "inference_mode": real.inference_mode.__exit__,
        "autocast": amp.autocast.__exit__,
        "saved_tensors_hooks": autograd.graph.saved_tensors_hooks.__exit__,
        "TorchDispatchMode": _python_dispatch.TorchDispatchMode.__exit__,
    }
    assert exits.keys() == BEGINNINGS.keys()
    assert all(isinstance(function, FunctionType) for function in exits.values())
