"""Hooks on gradients: pre-hooks, post-hooks, post-accumulate-grad hooks, and RemovableHandle.

This module mirrors ``torch/csrc/autograd/python_hook.cpp`` and ``torch/utils/hooks.py``. For one Node the order is:
tensor pre hooks (grouped per tensor, in the order in which the tensors got their first), retains-grad hooks, pre hooks,
the Node, post hooks. ``tensor_hooks.py`` has the rules for registering hooks on a tensor.

Rule 1: a list of hooks is copied before it is run. Adding and removing take effect at the next backward.
Rule 2: gradients are replaced in the engine's list, and nothing here keeps a reference to one, since AccumulateGrad may
steal a gradient only if it has no other reference.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from inspect import getattr_static
from types import BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar

from dispatchviz.core.autograd.variables.legacy_type import legacy_type
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.events.hook_events import HookKind

Hook = Callable[..., Any]


HookDict = OrderedDict[int, Hook]
"""Hooks by handle id, in order of registration."""


class RemovableHandle:
    """A handle that removes its hook, by ``remove()`` or at the end of a ``with`` block."""

    next_id: ClassVar[int] = 0

    def __init__(self, hooks_dict: Any, hook: Hook | None = None, *, extra_dict: Any = None) -> None:
        """Create a handle for ``hook``, or for the entry that the caller puts into ``hooks_dict`` under ``id``.

        Removing also deletes the entries with the same id in ``extra_dict``, which is one or several dicts.
        """
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple([weakref.ref(one) for one in extra])
        if hook is not None:
            hooks_dict[self.id] = hook

    def remove(self) -> None:
        """Remove the hook, if it still exists."""
        if recorder.active is not None:
            recorder.active.hook_removed(self.id)
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int, tuple[Any, ...]]:
        return self.hooks_dict_ref(), self.id, tuple([reference() for reference in self.extra_dict_ref])

    def __setstate__(self, state: tuple[Any, int] | tuple[Any, int, tuple[Any, ...]]) -> None:
        """Restore a pickled handle. Dicts that no longer exist become empty, and new ids are larger than this one."""
        hooks, self.id, *rest = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extra = rest[0] if rest else ()
        self.extra_dict_ref = tuple([weakref.ref(OrderedDict() if one is None else one) for one in extra])
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class TensorPreHook:
    """The hooks of one tensor, kept by the Node that produced it. The tensor is that Node's output ``output_nr``."""

    __slots__ = ("hooks", "output_nr")

    def __init__(self, hooks: HookDict, output_nr: int) -> None:
        self.hooks = hooks
        self.output_nr = output_nr


class TensorHooks:
    """The hooks registered on a tensor."""

    __slots__ = ("backward", "post_accumulate")

    def __init__(self) -> None:
        self.backward: HookDict | None = None
        self.post_accumulate: HookDict | None = None


class NodeHooks:
    """The hooks of a Node. ``retains_grad`` has at most one hook per output."""

    __slots__ = ("post", "pre", "retains_grad", "tensor_pre")

    def __init__(self) -> None:
        self.pre: HookDict | None = None
        self.tensor_pre: list[TensorPreHook] = []
        self.retains_grad: dict[int, Callable[[Tensor], bool]] = {}
        self.post: HookDict | None = None

    def add_pre(self, hook: Hook) -> RemovableHandle:
        """Add a hook that runs before the Node."""
        if self.pre is None:
            self.pre = HookDict()
        return RemovableHandle(self.pre, hook)

    def add_post(self, hook: Hook) -> RemovableHandle:
        """Add a hook that runs after the Node."""
        if self.post is None:
            self.post = HookDict()
        return RemovableHandle(self.post, hook)


def run_tensor_pre_hooks(node: Node, values: list[Tensor | None]) -> None:
    """Run tensor hooks, then retains-grad hooks, on the gradients in ``values``."""
    for tensor_hook in node.tensor_pre_hooks():
        for hook in list(tensor_hook.hooks.values()):
            _run_single(node, hook, values, tensor_hook.output_nr)
    if node.hooks is not None:
        for output_nr, retain in node.hooks.retains_grad.items():
            gradient = values[output_nr]
            kept = gradient is not None and retain(gradient)
            if recorder.active is not None:
                recorder.active.hook_ran("retains-grad hook", node, "retain_grad", False, kept)


def _run_single(node: Node, hook: Hook, values: list[Tensor | None], index: int) -> None:
    result = hook(values[index])
    replaced = result is not None and result is not values[index]
    if replaced:
        _check_single(values[index], result, hook)
        values[index] = result
    _record_hook("tensor pre hook", node, hook, replaced, values)


def run_pre_hooks(node: Node, values: list[Tensor | None]) -> None:
    """Run the pre hooks of the Node on the gradients in ``values``."""
    if node.hooks is None or node.hooks.pre is None:
        return
    for hook in list(node.hooks.pre.values()):
        before = tuple(values)
        replaced = _replaces(before, hook(before), hook, values)
        _record_hook("pre hook", node, hook, replaced, values)


def run_post_hooks(
    node: Node, hooks: HookDict, outputs: list[Tensor | None], inputs: list[Tensor | None]
) -> list[Tensor | None]:
    """Run the post hooks, which get the Node's outputs and inputs. Return the outputs to continue with."""
    for hook in list(hooks.values()):
        before = tuple(outputs)
        replaced = _replaces(before, hook(before, tuple(inputs)), hook, outputs)
        _record_hook("post hook", node, hook, replaced, outputs)
    return outputs


def run_post_accumulate_hooks(node: Node, leaf: Tensor) -> None:
    """Run the leaf's hooks after its ``.grad`` was updated. Raise RuntimeError if one returns something other than its
    argument.

    As in PyTorch, a replacement is checked like a gradient and passed to the next hook before it is refused.
    """
    if leaf._hooks is None or leaf._hooks.post_accumulate is None:
        return
    value = leaf
    for hook in list(leaf._hooks.post_accumulate.values()):
        result = hook(value)
        if result is not None and result is not value:
            _check_single(value, result, hook)
            value = result
        _record_hook("post-accumulate hook", node, hook, replaced=False)
    if value is not leaf:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _record_hook(
    kind: HookKind, node: Node, hook: Hook, replaced: bool, gradients: Sequence[Tensor | None] = ()
) -> None:
    if recorder.active is not None:
        recorder.active.hook_ran(kind, node, recorded_name(hook), replaced, False, gradients)


def _replaces(before: Sequence[Tensor | None], result: Any, hook: Hook, values: list[Tensor | None]) -> bool:
    """Check the result of a Node's hook and write it into ``values``. Return whether it replaces gradients."""
    if result is None or result is before:
        return False
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values "
            f"(got {len(result)}, but expected {len(before)})"
        )
    for old, new in zip(before, result, strict=True):
        _check_single(old, new, hook)
    values[:] = result
    return True


def _check_single(old: Tensor | None, new: Any, hook: Hook) -> None:
    """Raise an error unless a replacement is a tensor of the same type and size."""
    if new is None:
        return
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if legacy_type(new) != legacy_type(old):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value (was {legacy_type(old)} got {legacy_type(new)})"
        )
    if new._size != old._size:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")


def registered(
    kind: HookKind, handle: RemovableHandle, hook: Hook, node: Node | None, tensor: Tensor | None = None
) -> RemovableHandle:
    """Return the handle, after recording the hook."""
    note_hook(kind, handle.id, hook, node, tensor)
    return handle


def note_hook(kind: HookKind, number: int, hook: Hook, node: Node | None, tensor: Tensor | None) -> None:
    """Record that a hook was registered. ``number`` is the handle's id."""
    if recorder.active is not None:
        recorder.active.hook_registered(kind, recorded_name(hook), number, node, tensor)


_UNKNOWN = "<unknown>"
_OF_C = (GetSetDescriptorType, MemberDescriptorType)
"""Classes of descriptors that are not Python code."""


def name_of(hook: Hook) -> str:
    """Return the name of a hook in messages. Any error while reading it means that there is no name (``hook_name`` of
    ``python_hook.cpp``).
    """
    try:
        name = hook.__name__
    except Exception as error:
        if is_from_outside(error):
            raise
        return _UNKNOWN
    return name if isinstance(name, str) else _UNKNOWN


def recorded_name(hook: Any) -> str:
    """Return the name of a hook for a recorder. It runs none of the program's code: if its class has code for
    attributes, the hook has no name here.
    """
    while type(hook) is MethodType:
        hook = hook.__func__
    return _UNKNOWN if _runs_code_for_its_name(type(hook)) else name_of(hook)


def _runs_code_for_its_name(kind: type) -> bool:
    if kind in (type, BuiltinFunctionType):
        return False
    access, missing, name = (
        getattr_static(kind, each, None) for each in ("__getattribute__", "__getattr__", "__name__")
    )
    if access is not object.__getattribute__ or missing is not None:
        return True
    return getattr_static(type(name), "__get__", None) is not None and type(name) not in _OF_C


def move_hooks_to_new_grad_fn(tensor: Tensor, old: Node | None, new: Node) -> None:
    """Handle a change of the tensor's history: hooks stay with the old Node, a retains-grad hook moves to the new one.

    It is ``update_tensor_hooks_on_new_gradfn`` of ``torch/csrc/autograd/variable.cpp``.
    """
    if tensor._hooks is not None:
        tensor._hooks.backward = None
    if tensor._retains_grad and old is not None and old.hooks is not None:
        retain = old.hooks.retains_grad.pop(tensor._output_nr, None)
        if retain is None:  # a Function returned it twice after writing to it
            raise RuntimeError(
                'out != nullptr INTERNAL ASSERT FAILED at "torch/csrc/autograd/variable.cpp":207, please report a bug '
                "to PyTorch. "
            )
        new.own_hooks().retains_grad[tensor._output_nr] = retain
        if recorder.active is not None:
            recorder.active.hook_registered("retains-grad hook", "retain_grad", None, new, tensor, moved=True)
