"""The engine of a real PyTorch: each backward, each Node as it is evaluated, each ``.grad`` that is written.

A backward is seen where Python enters the engine. A pre hook on every Node of its graph tells that the Node is
evaluated, and with which gradients; it is gone when the backward is over. Post hooks are not used: AccumulateGrad would
steal other gradients. What the engine counts and queues is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.tensor_numbers import ACCUMULATE
from dispatchviz.live.wrapped_numbers import on_another_thread

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Edge = tuple[Any, int]
"""A Node and the number of its input."""


class Evaluation:
    """A Node that is evaluated; of an AccumulateGrad what is there before."""

    __slots__ = ("address", "before", "gradient", "leaf", "node")

    def __init__(self, node: int) -> None:
        self.node = node
        self.leaf: Any = None
        self.before: Any = None
        self.gradient = -1
        self.address = 0


class EngineWatch:
    """Stands where Python enters the engine."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._tasks = count()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While open, every backward of the process is seen."""
        module: Any = self._torch.autograd
        original = module._engine_run_backward

        def run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.active is not self._watch or not self._watch.thread.watched:
                return original(roots, *args, **kwargs)
            return self._run(original, roots, args, kwargs)

        module._engine_run_backward = run_backward
        try:
            yield
        finally:
            module._engine_run_backward = original

    def _run(self, original: Any, roots: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        watch = self._watch
        watch.arrives(4)
        task = next(self._tasks)
        hooks = watch.guarded(lambda: self._begin(task, roots, args, kwargs)) or []
        before, watch.thread.evaluation = watch.thread.evaluation, None
        watch.thread.depth += 1
        finished = False
        try:
            result = original(roots, *args, **kwargs)
            finished = True
            return result
        finally:
            watch.guarded(self.close)
            watch.thread.evaluation = before
            watch.thread.depth -= 1
            for hook in hooks:
                hook.remove()
            if recorder.active is watch:
                if finished:
                    watch._emit(ev.BackwardFinished, task)
                watch.leave()

    def _begin(self, task: int, ends: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The event, and the hooks of all Nodes."""
        watch, numbers = self._watch, self._watch.nodes.numbers
        edges = [self._edge(end) for end in ends]
        gradients, keep, create, inputs = (*args, (), False, False, ())[:4] if len(args) >= 4 else (*args, ())
        nodes = _preorder([edge[0] for edge in edges if edge is not None])
        for node in reversed(nodes):
            if numbers.get(node) < 0:
                watch.nodes.met(node)
        roots = tuple([(numbers.get(edge[0]) - watch.first_node, edge[1]) for edge in edges if edge is not None])
        asked = tuple([found for one in inputs or () if (found := self._asked(one)) is not None])
        tensors = tuple([watch._tensor(one) if isinstance(one, self._torch.Tensor) else None for one in inputs or ()])
        received = tuple([None if one is None else watch._tensor(one) for one in gradients])
        accumulate = bool(kwargs.get("accumulate_grad", False))
        fields = task, roots, received, bool(keep), bool(create), accumulate, watch.thread.depth
        watch._emit_span(ev.BackwardStarted, *fields, asked, tensors)
        return [node.register_prehook(self._hook(node, numbers.get(node))) for node in nodes]

    def _hook(self, node: Any, number: int) -> Any:
        """What is called before a Node is evaluated; holds no Node."""
        name, sequence_nr = node.name(), node._sequence_nr()
        is_accumulator = name == ACCUMULATE
        leaf = node.variable if is_accumulator else None

        def started(gradients: tuple[Any, ...]) -> None:
            if recorder.active is self._watch:
                self._watch.guarded(lambda: self._started(number, name, sequence_nr, leaf, gradients))

        return started

    def _started(self, number: int, name: str, sequence_nr: int, leaf: Any, gradients: tuple[Any, ...]) -> None:
        watch, thread = self._watch, self._watch.thread
        if thread.evaluation is not None:
            self.close()
        known = watch.live_tensors.get
        received: list[int | None] = []
        place = None
        for gradient in gradients:
            if gradient is None:
                received.append(None)
            else:
                place = place or gradient.device
                serial = known(gradient)
                received.append(serial if serial >= 0 else watch.serial(gradient))
        watch.note(("live_node_started", number, name, sequence_nr, tuple(received), place))
        evaluation = thread.evaluation = Evaluation(number)
        if leaf is not None and gradients[0] is not None:
            evaluation.leaf, evaluation.before = leaf, leaf.grad
            evaluation.gradient, evaluation.address = received[0] or 0, self._address(gradients[0])

    def close(self) -> None:
        """The Node that was evaluated has returned."""
        watch = self._watch
        evaluation, watch.thread.evaluation = watch.thread.evaluation, None
        if evaluation is not None and recorder.active is watch:
            if evaluation.leaf is not None and evaluation.leaf.grad is not None:
                self._accumulated(evaluation)
            watch.leave()

    def _accumulated(self, evaluation: Evaluation) -> None:
        watch, leaf = self._watch, evaluation.leaf
        result = leaf.grad
        how, why = self._method(evaluation, result)
        gradient = evaluation.gradient - watch.first_tensor
        fields = watch._tensor(leaf), gradient, watch._tensor(result), how, why
        watch._emit(ev.GradientAccumulated, *fields)

    def _method(self, evaluation: Evaluation, result: Any) -> tuple[ev.AccumulationMethod, str]:
        """How ``.grad`` got the gradient, told by what it is before and after."""
        if evaluation.before is None:
            stolen = self._address(result) == evaluation.address
            return ("stolen", "it has the gradient's memory") if stolen else ("copied", "it has memory of its own")
        if result is evaluation.before:
            return "added in place", ".grad is the same tensor as before"
        return "added out of place", ".grad is another tensor than before"

    def _address(self, tensor: Any) -> int:
        """0 of a tensor without memory, and of a subclass that may say what it likes."""
        c = self._torch._C
        if c._dispatch_keys(tensor).has(c.DispatchKey.Python):
            return 0
        try:
            return int(tensor.data_ptr())
        except RuntimeError:
            return 0

    def _asked(self, wanted: Any) -> tuple[int, int] | None:
        """The number of an edge whose gradient is asked for."""
        first, accumulators = self._watch.first_node, self._watch.nodes.numbers.accumulators
        if isinstance(wanted, self._torch.Tensor) and (known := accumulators.get(wanted)) >= 0:
            return known - first, 0
        edge = self._edge(wanted)
        return None if edge is None else (self._watch.nodes.known(edge[0]) - first, edge[1])

    def _edge(self, tensor: Any) -> Edge | None:
        """The gradient edge of a tensor; uses no sequence number of this thread."""
        if not isinstance(tensor, self._torch.Tensor):
            return tensor.node, tensor.output_nr
        node = tensor.grad_fn
        if node is not None:
            return node, tensor.output_nr
        if not tensor.requires_grad:
            return None
        node = on_another_thread(lambda: self._accumulator(tensor))
        return None if node is None else (node, 0)

    def _accumulator(self, leaf: Any) -> Any:
        """None within a transform of ``torch.func``, which this thread is not in, and where a class prevents it."""
        self._watch.thread.watched = False
        with self._torch.enable_grad(), self._torch._C.DisableTorchFunctionSubclass(), suppress(Exception):
            node = leaf.view_as(leaf).grad_fn
            return None if node is None else node.next_functions[0][0]


def _preorder(roots: list[Any]) -> list[Any]:
    """All Nodes that can be reached, in depth-first preorder along the edges."""
    found: dict[Any, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += [target for target, _ in reversed(node.next_functions) if target is not None]
    return list(found)
