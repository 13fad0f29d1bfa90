"""Checkpointing by saved-tensor hooks (``torch/utils/checkpoint.py``, ``use_reentrant=False``).

In forward, the pack hook returns a holder for each tensor. The first unpack hook of a backward runs the function again,
under hooks that give the tensors to the holders in the same order, and stops after the last one.
"""

from __future__ import annotations

import contextlib
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.saved_tensors_hooks import saved_tensors_hooks
from dispatchviz.torch.utils import _pytree

# -- the state around a function ---------------------------------------------------------------------------------------


def device_type_of(args: Any) -> str:
    """Return the device type that a checkpoint handles besides the CPU."""
    leaves = [value for value in _pytree.tree_leaves(args) if isinstance(value, torch.Tensor)]
    kinds = [tensor.device.type for tensor in leaves if tensor.device.type != "cpu"]
    return "cuda" if not kinds or "cuda" in kinds else str(kinds[0])


@dataclass(frozen=True)
class SavedState:
    """The RNG state and autocast state at the beginning of a function."""

    device_type: str
    preserve: bool
    cpu_state: Any
    device_state: Any
    autocast: dict[str, dict[str, Any]]


def current_state(device_type: str, preserve: bool) -> SavedState:
    """Return the RNG and autocast state that ``restore_state`` restores."""
    kinds = dict.fromkeys((device_type, "cpu"))
    on_device = device_type == "cuda" and preserve and torch.cuda.is_initialized()
    return SavedState(
        device_type,
        preserve,
        torch.get_rng_state() if preserve else None,
        torch.cuda.get_rng_state() if on_device else None,
        {kind: _autocast(kind) for kind in kinds if torch.amp.is_autocast_available(kind)},
    )


def _autocast(kind: str) -> dict[str, Any]:
    enabled, dtype = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    return {"enabled": enabled, "dtype": dtype, "cache_enabled": torch.is_autocast_cache_enabled()}


@contextlib.contextmanager
def restore_state(before: SavedState, arguments: Callable[[], Any], grad: bool = False) -> Iterator[Any]:
    """Restore the random state and the autocast state for a block; yield the arguments, created inside."""
    devices = [0] if before.device_state is not None else []
    with torch.random.fork_rng(devices=devices, enabled=before.preserve, device_type=before.device_type):
        if before.preserve:
            torch.set_rng_state(before.cpu_state)
            if before.device_state is not None:
                torch.cuda.set_rng_state(before.device_state)
        given = arguments()
        with contextlib.ExitStack() as stack:
            if grad:
                stack.enter_context(torch.enable_grad())
            for kind, options in before.autocast.items():
                stack.enter_context(torch.amp.autocast(kind, **options))
            yield given


def noop_context_fn() -> tuple[Any, Any]:
    """Return two contexts that do nothing, for forward and for recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Set whether checkpoints created in the block stop recomputing after the last tensor that is needed."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


# -- frames ------------------------------------------------------------------------------------------------------------


class CheckpointError(RuntimeError):
    """Recomputed tensors differ in number or metadata."""


CheckpointError.__module__ = "torch.utils.checkpoint"


class _StopRecomputationError(Exception):
    pass


class _Handle:
    """A handle that keeps one recomputed tensor alive until it is unpacked."""


class _Holder:
    def __init__(self) -> None:
        self.handles: dict[Any, _Handle | None] = {}


class _Frame:
    """One checkpointed call: weak references to its holders, and the recomputed tensors by backward pass."""

    def __init__(self, recompute: Callable[..., None], early_stop: bool, describe: Callable[[Any], Any]) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.describe = describe
        self.arguments: list[Any] = []
        self.holders: list[weakref.ref[_Holder]] = []
        self.descriptions: list[Any] = []
        self.recomputed: defaultdict[Any, Any] = defaultdict(weakref.WeakKeyDictionary)
        self.count: defaultdict[Any, int] = defaultdict(int)
        self.done: defaultdict[Any, bool] = defaultdict(bool)
        self.ignore_mismatch = False
        self.forward_completed = False

    def save_inputs(self, args: tuple[Any, ...]) -> None:
        """Save the tensors as a Node does."""
        self.arguments = [SavedVariable(value) if isinstance(value, torch.Tensor) else value for value in args]

    def inputs(self) -> list[Any]:
        """Return the inputs. Raise RuntimeError for a tensor that was written to since."""
        return [value.unpack() if isinstance(value, SavedVariable) else value for value in self.arguments]

    def check(self, run: Any) -> None:
        """Raise CheckpointError if the recomputed tensors differ from forward's."""
        if self.ignore_mismatch:
            return
        if len(self.holders) != self.count[run]:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {self.count[run]}.\n{_TIP}"
            )
        differing = ""
        for index, reference in enumerate(self.holders):
            holder = reference()
            handle = None if holder is None else holder.handles[run]
            if handle is None:
                continue
            found = self.describe(self.recomputed[run][handle])
            if found != self.descriptions[index]:
                differing += (
                    f"tensor at position {index}:\nsaved metadata: {self.descriptions[index]}\n"
                    f"recomputed metadata: {found}\n"
                )
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{differing}.\n{_TIP}"
            )


class _ForwardHook(saved_tensors_hooks):
    def __init__(self, frame: _Frame) -> None:
        self._frame = frame
        super().__init__(self._pack, self._unpack)

    def _pack(self, tensor: Any) -> _Holder:
        holder = _Holder()
        self._frame.holders.append(weakref.ref(holder))
        with torch.no_grad():
            self._frame.descriptions.append(self._frame.describe(tensor))
        return holder

    def _unpack(self, holder: _Holder) -> Any:
        frame = self._frame
        run: Any = torch._C._current_graph_task_id()
        if run == -1:  # outside of backward, a run of its own
            run = uuid.uuid4()
        if not frame.done[run]:
            self._recompute(run)
        handle = holder.handles[run]
        if handle is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
                "issue with details on your use case."
            )
        tensor = frame.recomputed[run][handle]
        holder.handles[run] = None
        return tensor

    def _recompute(self, run: Any) -> None:
        frame = self._frame
        arguments = frame.inputs()
        try:
            with _RecomputationHook(frame, run), torch.enable_grad():
                frame.recompute(*arguments)
        except _StopRecomputationError:
            pass
        frame.done[run] = True
        frame.check(run)


class _RecomputationHook(saved_tensors_hooks):
    def __init__(self, frame: _Frame, run: Any) -> None:
        self._frame, self._run = weakref.ref(frame), run
        super().__init__(self._pack, lambda tensor: tensor)

    def _pack(self, tensor: Any) -> Any:
        tensor = tensor.detach() if tensor.requires_grad else tensor
        frame, run = self._frame(), self._run
        assert frame is not None
        index = frame.count[run]
        frame.count[run] += 1
        if index >= len(frame.holders):
            if not frame.forward_completed:  # forward runs a backward inside
                frame.ignore_mismatch = True
                return tensor
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass.\n{_TIP}"
            )
        holder = frame.holders[index]()
        if holder is not None:
            handle = holder.handles[run] = _Handle()
            frame.recomputed[run][handle] = tensor
        if frame.early_stop and frame.count[run] == len(frame.holders):
            raise _StopRecomputationError
        return tensor


# -- forward -----------------------------------------------------------------------------------------------------------


def _metadata(tensor: Any) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _metadata, "none": lambda _: None}


@contextlib.contextmanager
def forward_hooks(
    function: Callable[..., Any],
    preserve: bool,
    context_fn: Callable[[], Any],
    determinism_check: str,
    early_stop: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Iterator[None]:
    """Install the hooks for the function's call. Raise ValueError for an unknown check."""
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    before = current_state(device_type_of(args), preserve)

    def recompute(*arguments: Any) -> None:
        with restore_state(before, lambda: arguments) as given, recompute_context:
            function(*given, **kwargs)

    frame = _Frame(recompute, early_stop if _early_stop is None else _early_stop, _CHECKS[determinism_check])
    if not torch.is_grad_enabled():
        yield
        return
    frame.save_inputs(args)
    with _ForwardHook(frame), forward_context:
        yield
    frame.forward_completed = True


_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""
