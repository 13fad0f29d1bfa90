"""The state after runs of the engine in special cases: errors, nested backwards, threads.

Each question is a function of a torch, real or modeled, that returns plain values.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

Torch = Any
Question = Callable[[Torch], Any]


def answers(torch: Torch) -> dict[str, Any]:
    """All answers in the form in which JSON reads them."""
    found: dict[str, Any] = {question.__name__: question(torch) for question in QUESTIONS}
    return dict(json.loads(json.dumps(found)))


def _leaf(torch: Torch, *values: float) -> Any:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def _error(call: Callable[[], Any]) -> list[str] | None:
    try:
        call()
    except BaseException as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    return None


def _grad(leaf: Any) -> Any:
    return None if leaf.grad is None else [leaf.grad.tolist(), str(leaf.grad.dtype)]


def _raising(error: BaseException) -> Callable[..., Any]:
    def hook(*_: Any) -> None:
        raise error

    return hook


def _state(torch: Torch) -> list[Any]:
    return [torch.is_grad_enabled(), torch._C._current_graph_task_id()]


# -- errors -----------------------------------------------------------------------------------------------------------


def hook_of_a_leaf_raises(torch: Torch) -> Any:
    """A hook of a leaf raises: earlier Nodes have released their saved values, and finished leaves keep their
    gradients.
    """
    x, y = _leaf(torch, 1.0, 2.0), _leaf(torch, 3.0, 4.0)
    z = ((x * 2).exp() + (y * 3)).sum()
    handle = y.register_hook(_raising(ValueError("mine")))
    found = [_error(z.backward), _grad(x), _grad(y), _state(torch)]
    handle.remove()
    return [*found, _error(z.backward), _grad(x), _grad(y)]


def hook_after_a_node_raises(torch: Torch) -> Any:
    """A post hook of a Node raises: the Node has run and keeps its variables, which are released after the hooks."""
    x = _leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = y.sum()
    handle = y.grad_fn.register_hook(_raising(KeyError("after")))
    first = _error(z.backward)
    handle.remove()
    return [first, _grad(x), _error(lambda: y.sum().backward()), _grad(x)]


def hook_before_a_node_raises(torch: Torch) -> Any:
    """A pre hook of a Node raises: the Node has not run."""
    x = _leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = y.sum()
    handle = y.grad_fn.register_prehook(_raising(KeyError("before")))
    first = _error(z.backward)
    handle.remove()
    return [first, _error(z.backward), _grad(x)]


def hook_after_accumulation_raises(torch: Torch) -> Any:
    """A hook after accumulation raises: the gradient is there."""
    x = _leaf(torch, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(_raising(ZeroDivisionError("late")))
    return [_error((x * 2).sum().backward), _grad(x)]


def what_an_error_left_waiting_is_forgotten(torch: Torch) -> Any:
    """An error leaves Nodes in the queue: the next backward starts clean."""
    x, w, v = _leaf(torch, 1.0), _leaf(torch, 2.0), _leaf(torch, 3.0)
    total = x.exp() + w.exp() + (x * w)
    handle = w.register_hook(_raising(ValueError("mine")))
    first = _error(total.backward)
    handle.remove()
    (v * 2).backward()
    return [first, _grad(x), _grad(w), _grad(v), _state(torch)]


def interrupts_come_out_as_they_are(torch: Torch) -> Any:
    """Exceptions that are not subclasses of Exception."""
    found = []
    for error in (KeyboardInterrupt("stop"), SystemExit(3), GeneratorExit()):
        x = _leaf(torch, 1.0)
        x.register_hook(_raising(error))
        found.append(_error(x.exp().backward))
    return found


def outputs_that_do_not_fit(torch: Torch) -> Any:
    """Gradients that do not fit (``validate_outputs``), of a Node and of roots."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return returned(grad)

    found = []
    for returned in (  # noqa: B007  # the Function above calls it
        lambda grad: torch.ones(5, dtype=torch.float64),
        lambda grad: None,
        lambda grad: (grad, grad),
        lambda grad: 3,
        lambda grad: grad.float(),
        lambda grad: torch.ones(2, dtype=torch.float64, device="meta"),
        lambda grad: torch.ones(2, dtype=torch.complex128),
        lambda grad: torch.tensor(1.0, dtype=torch.float64),
        lambda grad: torch.ones(3, 2, dtype=torch.float64),
        lambda grad: torch.ones(2, dtype=torch.int64),
    ):
        x = _leaf(torch, 1.0, 2.0)
        y = Function.apply(x)
        found.append([_error(lambda y=y: y.sum().backward()), _grad(x)])
    return found


# -- nesting ----------------------------------------------------------------------------------------------------------


def error_in_a_nested_backward(torch: Torch) -> Any:
    """An error in a nested backward leaves both; if it is caught between them, the outer backward continues."""

    def twice(gradient: Any) -> None:
        with torch.enable_grad():
            y = _leaf(torch, 5.0).exp()
            y.backward()
            y.backward()

    caught: list[Any] = []
    found = []
    for hook in (twice, lambda gradient: caught.append(_error(lambda: twice(gradient)))):
        x = _leaf(torch, 1.0, 2.0)
        y = x * 2
        y.register_hook(hook)
        found.append([_error(y.sum().backward), _grad(x), _state(torch)])
    return [found, caught]


def nested_backward_over_the_same_nodes(torch: Torch) -> Any:
    """A nested backward over the same Nodes: the inner one writes to the leaf first."""
    x = _leaf(torch, 2.0)
    y = x.exp()
    z = y * y
    seen: list[Any] = []

    def again(gradient: Any) -> None:
        with torch.enable_grad():
            y.backward(retain_graph=True)
        seen.append(_grad(x))

    z.register_hook(again)
    z.backward()
    return [seen, _grad(x)]


def nested_deeper_than_the_stack_allows(torch: Torch) -> Any:
    """The depth at which a nested backward moves to another thread, and the thread that numbers its Nodes."""
    here = threading.get_ident()

    def nested(levels: int) -> list[Any]:
        if not levels:
            with torch.enable_grad():
                number = (_leaf(torch, 1.0) * 2).grad_fn._sequence_nr()
            return [threading.get_ident() == here, number < 30]
        found: list[Any] = []
        with torch.enable_grad():
            y = _leaf(torch, 1.0).exp()
            y.register_hook(lambda gradient: found.extend(nested(levels - 1)))
            y.backward()
        return found

    for _ in range(40):
        _leaf(torch, 1.0).exp()
    return [nested(levels) for levels in (1, 60, 61, 62, 63)]


# -- callbacks, threads -----------------------------------------------------------------------------------------------


def final_callbacks(torch: Torch) -> Any:
    """Final callbacks run at the end, within the graph task; one may raise or queue another."""
    engine = torch.autograd.Variable._execution_engine
    log: list[Any] = []

    def second() -> None:
        log.append("second")

    def first() -> None:
        log.append(["first", _grad(x), torch._C._current_graph_task_id() >= 0, torch.is_grad_enabled()])
        engine.queue_callback(second)

    x, w = _leaf(torch, 1.0), _leaf(torch, 1.0)
    x.register_hook(lambda gradient: engine.queue_callback(first))
    x.exp().backward()
    w.register_hook(lambda gradient: engine.queue_callback(_raising(OSError("callback"))))
    return [log, _error(w.exp().backward), _grad(w), _error(lambda: engine.queue_callback(first)), _state(torch)]


def another_thread(torch: Torch) -> Any:
    """Another thread has its own grad mode, sequence numbers and backward."""
    found: list[Any] = []

    def work() -> None:
        y = _leaf(torch, 1.0).exp()
        found.extend([y.grad_fn._sequence_nr(), torch.is_grad_enabled(), _error(y.backward)])

    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return found


QUESTIONS: tuple[Question, ...] = (
    hook_of_a_leaf_raises,
    hook_after_a_node_raises,
    hook_before_a_node_raises,
    hook_after_accumulation_raises,
    what_an_error_left_waiting_is_forgotten,
    interrupts_come_out_as_they_are,
    outputs_that_do_not_fit,
    error_in_a_nested_backward,
    nested_backward_over_the_same_nodes,
    nested_deeper_than_the_stack_allows,
    final_callbacks,
    another_thread,
)
