"""An observer of the dispatcher and the engine of a real PyTorch, release builds included.

The kernels for the keys ``WATCHED`` of every ATen operator are replaced by Python kernels. Each receives the key set,
records it with the thread-local include and exclude sets, and calls the original kernel with the same set. So each
level shows its true raw set, also the levels that a redispatch with a computed set reaches. Fallthrough entries of the
dispatch table are not replaced: no call ever picks them.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
import torch._dynamo  # imported before watching begins: it compares signatures with the originals
import torch.autograd

from truth.observers.runs import FILE, Graphs, Run, in_new_thread, used_sequence_numbers

FUNCTORCH = (
    *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched"),
    "FuncTorchDynamicLayerBackMode",
)
CALLING_AGAIN = (*FUNCTORCH, "Functionalize", "AutocastCPU", "AutocastCUDA", "Python")
"""Keys whose kernels never redispatch: they make only calls."""
WATCHED = (
    *FUNCTORCH,
    *("AutogradCPU", "ADInplaceOrView", "ZeroTensor", "Negative", "Conjugate", "Functionalize", "BackendSelect", "CPU"),
    "AutocastCPU",
)
_FALLTHROUGH_BY_DEFAULT = ("FuncTorchVmapMode", "ADInplaceOrView", "BackendSelect", "AutocastCPU")
_LEFT_ALONE = (("aten::mul.Tensor", "AutogradMeta"), ("aten::mul.Tensor", "Meta"))
"""Kernels that are not replaced because ``wrapped_number`` needs them."""
_WITHOUT_TENSORS = (("aten::_nnpack_available", "Undefined"),)
"""Operators that kernels call without a tensor, which would give a key."""
C: Any = torch._C

Value = TypeVar("Value")
Step = list[Any]
"""The fields of a step: depth, line, operator, key, key set, included, excluded, how, Node being evaluated."""


class _Watch(threading.local):
    """The recorded steps of this thread; ``steps`` is None while the thread is not watched."""

    def __init__(self) -> None:
        self.steps: list[Step] | None = None
        self.open: list[tuple[str, str]] = []


_watch: _Watch | _WatchOfAllThreads = _Watch()


class _WatchOfAllThreads:
    """The recorded steps of the thread that is running, while the others wait."""

    def __init__(self) -> None:
        self.steps: list[Step] | None = None
        self.open: list[tuple[str, str]] = []


def watch_all_threads() -> None:
    """Record the steps of the engine's device threads too, while the thread that calls ``backward`` waits."""
    global _watch
    _watch = _WatchOfAllThreads()


@contextlib.contextmanager
def watched_dispatcher(keys: Sequence[str] = WATCHED, namespaces: Sequence[str] = ("aten",)) -> Iterator[None]:
    """Watch the dispatcher while open, so that ``steps_of`` works. Other threads run as usual, but slower."""
    found = list(_cells(keys, namespaces))
    libraries = {namespace: torch.library.Library(namespace, "FRAGMENT") for namespace in namespaces}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it overrides kernels on purpose
        for operator, key, kernel in found:
            step = _watching(operator, key, kernel)
            library = libraries[operator.partition("::")[0]].m  # its own method refuses some kernels for Meta
            library.impl(operator, key, step, True)
    torch.Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign,assignment]
    torch.Tensor.as_subclass = _as_subclass  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        del torch.Tensor._make_subclass, torch.Tensor.as_subclass  # the base class has the originals
        for opened in libraries.values():
            opened._destroy()


def _as_subclass(self: Any, cls: Any) -> Any:
    """Replace ``as_subclass``, for the same reason as ``_make_subclass`` below."""
    with torch._C.DisableTorchFunctionSubclass():
        alias = torch.ops.aten.alias.default(self)
    alias.__class__ = cls
    return alias


def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
    """Replace PyTorch's ``_make_subclass``, which raises for a tensor with a Python object, such as a watched
    ``detach`` returns.
    """
    with torch._C.DisableTorchFunctionSubclass():
        detached = data.detach()
    if require_grad and not (detached.is_floating_point() or detached.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    detached.__class__ = cls
    return detached.requires_grad_(require_grad)


def steps_of(function: Callable[[], Any]) -> list[Step]:
    """Call a function in this thread, and return the dispatch steps that it made."""
    _watch.steps, _watch.open = [], []
    try:
        function()
        return _watch.steps
    finally:
        _watch.steps = None


def watched_run(run: Run) -> tuple[list[Step], int]:
    """Run a program in this thread, and return its dispatch steps and the number of sequence numbers that it took."""
    return steps_of(run.whole), used_sequence_numbers(torch)


def _cells(keys: Sequence[str], namespaces: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """Yield each kernel to replace as operator, key, kernel."""
    for operator in sorted(C._dispatch_get_all_op_names()):
        for key in keys if operator.partition("::")[0] in namespaces else ():
            if (operator, key) not in _LEFT_ALONE and _has_real_kernel(operator, key):
                yield operator, key, _kernel(operator, key)
    yield from ((operator, key, _kernel(operator, key)) for operator, key in _WITHOUT_TENSORS if "aten" in namespaces)


def _kernel(operator: str, key: str) -> Any:
    return C._dispatch_get_computed_kernel_for_dispatch_key(operator, C._dispatch_key_parse(key))


def _has_real_kernel(operator: str, key: str) -> bool:
    if key not in _FALLTHROUGH_BY_DEFAULT:
        return bool(C._dispatch_has_computed_kernel_for_dispatch_key(operator, key)) and not _falls_through(
            operator, key
        )
    if not C._dispatch_has_kernel_for_dispatch_key(operator, key):
        return False
    return not _falls_through(operator, key)


def _falls_through(operator: str, key: str) -> bool:
    if not C._dispatch_has_kernel_for_dispatch_key(operator, key):
        return False
    return bool(C._dispatch_kernel_for_dispatch_key_is_fallthrough(operator, C._dispatch_key_parse(key)))


def _watching(operator: str, key: str, kernel: Any) -> Callable[..., Any]:
    """A kernel that records the step and then calls ``kernel``."""
    slots: _Slots | None = None

    def step(keys: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal slots
        slots = slots or _Slots(operator)
        args = slots.arguments(args)
        if _watch.steps is None:
            return slots.result(kernel.call_boxed(keys, *args, **kwargs))
        _watch.steps.append(_described(operator, key, keys))
        _watch.open.append(("" if key in CALLING_AGAIN else operator, key))
        try:
            return slots.result(kernel.call_boxed(keys, *args, **kwargs))
        finally:
            _watch.open.pop()

    return step


def _described(operator: str, key: str, keys: Any) -> Step:
    node = C._current_autograd_node()
    return [
        len(_watch.open),
        _program_line(),
        operator,
        key,
        keys.raw_repr(),
        C._dispatch_tls_local_include_set().raw_repr(),
        C._dispatch_tls_local_exclude_set().raw_repr(),
        "redispatch" if _goes_on(operator, key) else "call",
        None if node is None else node.name(),
    ]


def _goes_on(operator: str, key: str) -> bool:
    """Return whether the innermost open step redispatched the call.

    For a key equal to its own it has called the operator again, as forward formulas do.
    """
    return bool(_watch.open) and _watch.open[-1][0] == operator and _watch.open[-1][1] != key


def _program_line() -> int:
    """The line of the running program, or 0 outside of it."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


class _Slots:
    """The positions of an operator's tensor arguments, at which a wrapped number reaches a Python kernel as a plain
    number.
    """

    def __init__(self, operator: str) -> None:
        name, _, overload = operator.partition(".")
        schema = C._get_schema(name, overload)
        tensor = ("Tensor", "Optional[Tensor]")
        self._tensors = frozenset(i for i, a in enumerate(schema.arguments) if str(a.type) in tensor)
        self._returns_tensor = [str(a.type) for a in schema.returns] == ["Tensor"]

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with wrapped numbers as tensors again."""
        if any(i < len(args) and _is_number(args[i]) for i in self._tensors):
            return tuple(wrapped_number(a) if i in self._tensors and _is_number(a) else a for i, a in enumerate(args))
        return args

    def result(self, value: Any) -> Any:
        """The result, with a wrapped number as a tensor again."""
        return wrapped_number(value) if self._returns_tensor and _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def wrapped_number(number: complex) -> torch.Tensor:
    """The 0-dim tensor that PyTorch makes of a Python number, marked as a wrapped number, which has the lowest priority
    in promotion.

    A Node that saved a wrapped number returns it unchanged. The Node is made on the meta device, where the kernels for
    ``mul`` are not watched, and in another thread. In inference mode there are no Nodes, so it is a plain 0-dim tensor
    there. That promotes in the same way, except for a fraction combined with 0-dim tensors or integers only, which no
    recorded program does.
    """
    if torch.is_inference_mode_enabled():
        return unwatched(lambda: torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None))

    def make() -> torch.Tensor:
        node: Any = torch.ones(1, device="meta", requires_grad=True).mul(number).grad_fn
        return node._saved_other  # type: ignore[no-any-return]

    return unwatched(lambda: in_new_thread(make))


def unwatched(function: Callable[[], Value]) -> Value:
    """Call a function without recording its steps."""
    steps, _watch.steps = _watch.steps, None
    try:
        return function()
    finally:
        _watch.steps = steps


# -- the engine and the profiler ----------------------------------------------------------------------------------


@contextlib.contextmanager
def watched_engine(graphs: Graphs) -> Iterator[None]:
    """Record every backward of the process while open."""
    original = torch.autograd._engine_run_backward

    def run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
        edges = [_gradient_edge(root) for root in roots]
        with graphs.watching([edge for edge in edges if edge is not None]) if all(edges) else contextlib.nullcontext():
            return original(roots, *args, **kwargs)

    torch.autograd._engine_run_backward = run_backward
    try:
        yield
    finally:
        torch.autograd._engine_run_backward = original


def _gradient_edge(tensor: Any) -> tuple[Any, int] | None:
    """The gradient edge of a tensor, computed without taking a sequence number of this thread."""
    if isinstance(tensor, torch.autograd.graph.GradientEdge):
        return tensor.node, tensor.output_nr
    if tensor.grad_fn is not None:
        return tensor.grad_fn, tensor.output_nr
    if not tensor.requires_grad:
        return None
    view: Any = in_new_thread(lambda: tensor.view_as(tensor))
    return view.grad_fn.next_functions[0][0], 0


def profiled_calls(run: Run) -> list[list[Any]]:
    """Run a program, and return the calls that PyTorch's profiler records, as [depth, operator].

    It records no redispatches.
    """
    names = C._profiler._ExperimentalConfig(capture_overload_names=True)
    with torch.autograd.profiler.profile(experimental_config=names) as profiler:
        run.whole()
    found: list[list[Any]] = []
    ends: list[int] = []
    for event in sorted(profiler.kineto_results.events(), key=lambda e: (e.start_ns(), -e.duration_ns())):
        if event.name().startswith("aten::"):
            ends = [end for end in ends if end > event.start_ns()]
            found.append([len(ends), ".".join(filter(None, (event.name(), event.overload_name())))])
            ends.append(event.end_ns())
    return found
