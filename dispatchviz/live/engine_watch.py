"""The autograd engine of an installed PyTorch: each backward, each evaluation of a Node, each write to ``.grad``.

The recorder sees a backward where Python enters the engine. A pre hook on each Node of its graph reports that the Node
is evaluated, and its gradients. The hooks are removed when the backward is over. Post hooks are not used, because
AccumulateGrad would then steal other gradients. The engine's counts and queues are not seen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from sys import _getframe
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed
from dispatchviz.live.compiled_regions import Apart, backwards_are_compiled
from dispatchviz.live.followed_nodes import FOLLOWED, FollowedNodes
from dispatchviz.live.hooks_of_nodes import OurHook
from dispatchviz.live.logging_hooks import LoggingHooks
from dispatchviz.live.retained_gradients import record_newly_retained
from dispatchviz.live.running_hooks import RunningHooks
from dispatchviz.live.tensor_numbers import ACCUMULATE
from dispatchviz.live.wrapped_numbers import on_another_thread

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from dispatchviz.core.record.note_types import EventNote
    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.thread_states import ThreadState

Edge = tuple[Any, int]
"""A Node and its input number."""


class Pass:
    """A backward: the thread that called it, and the engine's own threads that evaluate its Nodes.

    A Node on a device other than the CPU is evaluated on that device's thread (``Engine::ready_queue``). A backward
    that is nested too deep runs on a thread of a pool (``Engine::add_thread_pool_task``).
    """

    __slots__ = ("caller", "depth", "helpers", "number", "task")

    def __init__(self, depth: int) -> None:
        self.caller, self.depth = get_ident(), depth
        self.number = -1
        """The recorder's number for it, if only some of its Nodes are recorded."""
        self.task = -1
        """PyTorch's number for it. It is known once another backward has begun inside this one."""
        self.helpers: list[tuple[int, ThreadState]] = []


class Evaluation:
    """A Node that is being evaluated. For an AccumulateGrad it also keeps the gradient that was there before."""

    __slots__ = ("address", "before", "gradient", "leaf")

    def __init__(self, leaf: Any, gradient: int, address: int) -> None:
        self.leaf, self.before = leaf, None if leaf is None else leaf.grad
        self.gradient, self.address = gradient, address


NO_LEAF = Evaluation(None, -1, 0)
"""The evaluation of any Node but an AccumulateGrad."""

Run = tuple[int, int, Any]
"""A pass of the engine on a thread.

It is the ``id`` of the frame that began it, which lives as long as the pass, the ``id`` of the program's frame that
called it, and the note of the line where Python is.
"""
NO_RUN: Run = (0, -1, None)


class EngineWatch:
    """The recorder of the engine, placed where Python enters it."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._torch = watch.torch
        self._tasks = count()
        self._several = False
        """True once a thread of the engine's own was met."""
        self._joining = Lock()
        """The lock that is held while a thread of the engine's own joins a backward, and while a backward ends: both
        close the last Node of the thread.
        """
        self.hooks = RunningHooks(watch)
        self._current_node = watch.torch._C._current_autograd_node
        self._current_task: Callable[[], int] = watch.torch._C._current_graph_task_id
        self._entry: CodeType | None = None
        """The code of PyTorch's function that calls the engine."""
        self._open: list[Pass] = []
        """The backwards that run now, on all threads."""
        self.followed = FollowedNodes(watch, self)

    def begin_in_child(self) -> None:
        """Count from 0 again, in a forked child, where no other thread runs and none holds the lock."""
        self._tasks, self._several, self._joining = count(), False, Lock()
        self._open.clear()

    @contextmanager
    def watching(self, unwatched: Apart) -> Iterator[None]:
        """Record each backward of the process inside the block, except those that compiled autograd runs."""
        module: Any = self._torch.autograd
        original = module._engine_run_backward
        self._entry = original.__code__
        logs = LoggingHooks(self._torch)

        def run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.listening is not self._watch or not self._watch.thread.watched:
                self._watch.compiler.backward_traced(roots)
                if self._watch.looking is not None and self._watch.looking.follows_nodes:
                    return self.followed.run(original, roots, args, kwargs)
                return original(roots, *args, **kwargs)
            if backwards_are_compiled():  # otherwise our hooks would be compiled too
                with self._watch.compiler.backwards.backward(), unwatched():
                    return original(roots, *args, **kwargs)
            if not logs.are_logged():
                return self._run(original, roots, args, kwargs)
            with logs.registered(roots):
                return self._run(original, roots, args, kwargs)

        module._engine_run_backward = run_backward
        try:
            with logs.replaced():
                yield
        finally:
            module._engine_run_backward = original

    def _run(self, original: Any, roots: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        watch = self._watch
        here = watch.line_calls(4)
        edges = watch.guarded(lambda: [self._edge(root) for root in roots])
        if edges is None or None in edges or not all(map(self._is_edge, _inputs_of(args))):  # the engine refuses it
            return original(roots, *args, **kwargs)
        task = next(self._tasks)
        thread = watch.thread
        work = Pass(thread.depth + 1)
        if thread.work is not None:
            thread.work.task = self._current_task()
        hooks = watch.guarded(lambda: self._begin(task, edges, work, args, kwargs)) or []
        before = thread.evaluation, thread.run, thread.work
        thread.evaluation, thread.run = None, NO_RUN if here is None else (id(_getframe()), watch._top, here)
        thread.work = work
        thread.depth += 1
        self._open.append(work)
        self.hooks.put()
        finished = False
        try:
            result = original(roots, *args, **kwargs)
            finished = True
            return result
        finally:
            try:
                watch.guarded(lambda: self._end(thread, work))
            finally:
                try:
                    self.hooks.take_out()
                finally:
                    self._open.remove(work)
                    thread.evaluation, thread.run, thread.work = before
                    thread.depth -= 1
                    for there in hooks:
                        there.pop(work, None)
                    hooks.clear()
                    if recorder.listening is watch:
                        if finished:
                            watch._emit(ev.BackwardFinished, task)
                        watch.leave()

    def _begin(
        self, task: int, edges: list[Edge], work: Pass, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Emit the event of a backward. Return the hooks that were put on its Nodes."""
        nodes = _preorder([edge[0] for edge in edges])
        serials = list(map(self._watch.nodes.known, reversed(nodes)))
        self._emit_start(task, edges, args, kwargs)
        starts = self.starts
        return [_hooked(node, number, work, starts) for node, number in zip(nodes, reversed(serials), strict=True)]

    def _emit_start(self, task: int, edges: list[Edge], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Emit the event of a backward, whose roots are numbered."""
        watch, numbers = self._watch, self._watch.nodes.numbers
        gradients, keep, create = args[:3]
        inputs = _inputs_of(args)
        roots = tuple([(numbers.get(edge[0]) - watch.first_node, edge[1]) for edge in edges])
        requested = tuple([found for one in inputs if (found := self._requested(one)) is not None])
        tensors = tuple([watch._tensor(one) if isinstance(one, self._torch.Tensor) else None for one in inputs])
        received = tuple([None if one is None else watch._tensor(one) for one in gradients])
        accumulate = bool(kwargs.get("accumulate_grad", False))
        if accumulate and inputs:
            record_newly_retained(watch, inputs)
        fields = task, roots, received, bool(keep), bool(create), accumulate, watch.thread.depth
        watch._emit_span(ev.BackwardStarted, *fields, requested, tensors)

    def follow(self, node: Any, number: int) -> None:
        """Record the evaluations of a Node, in backwards of which nothing else may be recorded."""
        _hooked(node, number, FOLLOWED, self.followed.starts)

    def begins_followed(self, roots: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pass:
        """Emit the event of a backward of which only some Nodes are recorded."""
        watch, thread = self._watch, self._watch.thread
        here = watch.line_calls(5)
        edges = [edge for root in roots if (edge := self._edge(root)) is not None]
        for node, _ in edges:
            watch.nodes.known(node)
        self._emit_start(task := next(self._tasks), edges, args, kwargs)
        thread.depth += 1
        work = thread.work = Pass(thread.depth)
        work.number = task
        thread.evaluation, thread.run = None, NO_RUN if here is None else (0, watch._top, here)
        self._open.append(work)
        self.hooks.put()
        return work

    def ends_followed(self, work: Pass, finished: bool) -> None:
        """Emit the event that a backward of which only some Nodes are recorded has ended."""
        watch, thread = self._watch, self._watch.thread
        self.hooks.take_out()
        self._open.remove(work)
        thread.depth -= 1
        if finished:
            watch._emit(ev.BackwardFinished, work.number)
        watch.leave()

    def leaves_node(self, thread: ThreadState) -> bool:
        """End recording if another Node is evaluated by now than the followed one. Return whether this is so."""
        node = self._current_node()
        if node is not None and self._watch.nodes.numbers.get(node) == self.followed.number:
            return False
        self.close(thread)
        self.followed.pauses()
        return True

    def starts(
        self, number: int, name: str, sequence_nr: int, leaf: Any, work: Pass, gradients: tuple[Any, ...]
    ) -> None:
        """Record that a Node is about to be evaluated. This is the Node's pre hook, which knows the leaf of an
        AccumulateGrad.

        It runs once for each Node, so it handles its own errors, which saves a call.
        """
        watch = self._watch
        if recorder.listening is not watch:
            return
        try:
            thread = watch._threads.state
            if thread.work is not work:
                if self._is_for_another(thread, work):
                    return
                self._joins(thread, work)
            elif thread.evaluation is NO_LEAF:
                thread.evaluation = None
                watch.note(recorder.LEAVE)
            elif thread.evaluation is not None:
                self.close(thread)
            first = gradients[0] if gradients else None
            received, place = (
                (watch._serial(first), first.device)
                if first is not None and len(gradients) == 1
                else self._received(gradients)
            )
            thread.evaluation = NO_LEAF  # no exception from outside can come between this and the note
            watch.note(("live_node_started", number, name, sequence_nr, received, place, thread.is_engines))
            if leaf is not None and first is not None:
                thread.evaluation = Evaluation(leaf, watch.number_of(gradients[0]), self._address(gradients[0]))
        except Exception as fault:
            watch._failed(fault, lambda _: self.starts(number, name, sequence_nr, leaf, work, gradients))

    def _received(self, gradients: tuple[Any, ...]) -> tuple[tuple[int | None, ...], Any]:
        """Return the serial numbers of the gradients and the device of the first one."""
        serial = self._watch._serial
        received = tuple([None if one is None else serial(one) for one in gradients])
        return received, next((one.device for one in gradients if one is not None), None)

    def _is_for_another(self, thread: ThreadState, work: Pass) -> bool:
        """Return whether a Node is evaluated for another pass than this one. One Node may be in the graphs of both."""
        around, ident = thread.work, get_ident()
        if around is None:
            return False
        if around.caller == ident != work.caller:
            return True
        task = self._current_task()
        return work.task not in (-1, task) or any(one.task == task and one is not work for one in self._open)

    def _joins(self, thread: ThreadState, work: Pass) -> None:
        """Note that a thread evaluates a Node of another backward than before. Either a nested backward has to wait for
        it, or the thread is the engine's own.
        """
        watch, ident = self._watch, get_ident()
        if ident != work.caller and not self._several:
            self._several = True
            watch.distinguish_threads()
        with self._joining:
            self.close(thread)
            thread.run, thread.work, thread.depth = NO_RUN, work, work.depth
            if ident != work.caller:
                thread.is_engines = thread.watched = True
                work.helpers.append((ident, thread))
        watch.note(("continues_thread", work.caller))

    def calls(self, caller: FrameType | None) -> bool:
        """Return whether the engine itself calls a function, given the calling frame. Functions that run on the
        engine's own threads have no calling frame.
        """
        return caller is None or caller.f_code is self._entry

    def hook_begins(self, thread: ThreadState, is_behind: bool) -> Evaluation | None:
        """Note that a hook is about to run. Return the evaluation to restore when it has returned.

        The hook belongs to the Node that is evaluated, or it comes before a Node that has not been seen yet.
        """
        if thread.work is None and len(self._open) == 1:
            self._joins(thread, self._open[0])
        if not is_behind:
            self.close(thread)
            return None
        evaluation, thread.evaluation = thread.evaluation, None
        if evaluation is None:
            return None
        if evaluation.leaf is not None and evaluation.leaf.grad is not None:
            self._watch.note(self._accumulated(evaluation))
        return NO_LEAF

    def _end(self, thread: ThreadState, work: Pass) -> None:
        """Close the Nodes of a backward after the engine has returned. Its own threads no longer work on it."""
        with self._joining:
            for ident, helper in work.helpers:
                if helper.work is work:
                    self.close(helper, ident)
                    helper.work, helper.depth = None, 0
        self.close(thread)

    def close(self, thread: ThreadState, ident: int = 0) -> None:
        """Note that the Node that was evaluated has returned, on the thread with this identifier, or on this thread if
        it is 0.
        """
        watch, evaluation, thread.evaluation = self._watch, thread.evaluation, None
        if evaluation is not None and recorder.listening is watch:
            try:
                if evaluation.leaf is not None and evaluation.leaf.grad is not None:
                    watch.note_of(ident, self._accumulated(evaluation))
            finally:
                watch.note_of(ident, recorder.LEAVE)

    def _accumulated(self, evaluation: Evaluation) -> EventNote:
        watch, leaf = self._watch, evaluation.leaf
        result = leaf.grad
        how, why = self._method(evaluation, result)
        gradient = evaluation.gradient - watch.first_tensor
        fields = watch._tensor(leaf), gradient, watch._tensor(result), how, why
        return ("event", ev.GradientAccumulated, fields)  # type: ignore[return-value]  # of one kind of event each

    def _method(self, evaluation: Evaluation, result: Any) -> tuple[ev.AccumulationMethod, str]:
        """Return how ``.grad`` received the gradient, by comparing it before and after, with the reason."""
        if evaluation.before is None:
            stolen = self._address(result) == evaluation.address
            return ("stolen", "it has the gradient's memory") if stolen else ("copied", "it has memory of its own")
        if result is evaluation.before:
            return "added in place", ".grad is the same tensor as before"
        return "added out of place", ".grad is another tensor than before"

    def _address(self, tensor: Any) -> int:
        """Return the address of a tensor's memory, or of its storage if it has no address. Return 0 for a subclass,
        which may answer anything.
        """
        c = self._torch._C
        if c._dispatch_keys(tensor).has(c.DispatchKey.Python):
            return 0
        try:
            return int(tensor.data_ptr()) or int(tensor.untyped_storage()._cdata)
        except RuntimeError as error:
            if is_from_outside(error):
                raise
            return 0

    def _requested(self, wanted: Any) -> tuple[int, int] | None:
        """Return the edge of a tensor whose gradient was requested, as the numbers of its Node and its input."""
        first, accumulators = self._watch.first_node, self._watch.nodes.numbers.accumulators
        if isinstance(wanted, self._torch.Tensor) and (known := accumulators.get(wanted)) >= 0:
            return known - first, 0
        edge = self._edge(wanted)
        return None if edge is None else (self._watch.nodes.known(edge[0]) - first, edge[1])

    def _is_edge(self, wanted: Any) -> bool:
        """Return whether ``wanted`` is a tensor that requires grad or an edge that leads to a Node."""
        if isinstance(wanted, self._torch.Tensor):
            return bool(wanted.requires_grad)
        return isinstance(getattr(wanted, "node", None), self._torch.autograd.graph.Node)

    def _edge(self, tensor: Any) -> Edge | None:
        """Return the gradient edge of a tensor, without using a sequence number of this thread."""
        if not isinstance(tensor, self._torch.Tensor):
            return (tensor.node, tensor.output_nr) if self._is_edge(tensor) else None  # else the engine refuses it
        node = tensor.grad_fn
        if node is not None:
            return node, tensor.output_nr
        if not tensor.requires_grad:
            return None
        node = self.accumulator(tensor)
        return None if node is None else (node, 0)

    def accumulator(self, leaf: Any) -> Any:
        """Return the AccumulateGrad of a leaf, and make one if it has none.

        Return None within a transform of ``torch.func``, which the other thread is not in, and where a class prevents
        it.
        """
        return on_another_thread(lambda: self._accumulator(leaf))

    def _accumulator(self, leaf: Any) -> Any:
        self._watch.thread.watched = False
        with self._torch.enable_grad(), self._torch._C.DisableTorchFunctionSubclass(), own_errors_suppressed(Exception):
            node = leaf.view_as(leaf).grad_fn
            return None if node is None else node.next_functions[0][0]


def _hooked(node: Any, number: int, work: object, starts: Callable[..., None]) -> Any:
    """Register a hook that is called before a Node is evaluated. Return all pre hooks of the Node. Our hook does not
    keep the Node alive.
    """
    name = node.name()
    leaf = node.variable if name == ACCUMULATE else None
    registered = node.register_prehook(OurHook(starts, number, name, node._sequence_nr(), leaf, work))
    if type(registered) is OrderedDict:
        return registered
    registered.remove()  # a handle: another thread has just ended the recording
    return {}


def _inputs_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors or edges whose gradients are requested, from the arguments that follow the roots."""
    return args[3] or () if len(args) > 3 else ()


def _preorder(roots: list[Any]) -> list[Any]:
    """Return all Nodes that can be reached from the roots, in depth-first preorder along the edges."""
    found: dict[Any, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            for target, _ in reversed(node.next_functions):
                if target is not None and target not in found:
                    stack.append(target)
    return list(found)
