"""The functions of ``torch.library`` that take an operator by name (``torch/library.py``).

Each creates a library of its own unless one is given. These libraries are kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.torch import _C
from dispatchviz.torch._library import qualified_names as names
from dispatchviz.torch._library import schema_properties as properties
from dispatchviz.torch._library.autocast import autocast_kernel
from dispatchviz.torch._library.autograd import Info, make_autograd_impl
from dispatchviz.torch._library.custom_ops import CustomOpDef, DeviceTypes, Function, opdef_of
from dispatchviz.torch._library.libraries import Library
from dispatchviz.torch._ops import OpOverload
from dispatchviz.torch.missing_names import stub as _stub
from dispatchviz.torch.tags import Tag, Tags

_keep_alive: list[Library] = []

_NAMELESS_SCHEMA = re.compile(r"\(.*\) -> .*")

Operator = str | OpOverload | CustomOpDef


def define(qualname: Any, schema: str, alias_analysis: str = "", *, lib: Library | None = None, tags: Tags = ()) -> Any:
    """Define ``namespace::name`` with a schema without a name.

    With a Library instead of a name, it is the older decorator for a function that implements the operator without a
    key. Raise ValueError for a name or a schema of another form.
    """
    if isinstance(qualname, Library):
        return _define_and_implement(qualname, schema, alias_analysis)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = names.parse_namespace(qualname)
    used = lib or _kept_alive(Library.made_at(names.DEFINE, namespace))
    if not _NAMELESS_SCHEMA.fullmatch(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    used.define(name + schema, tags=tags)
    return None


def _define_and_implement(library: Library, schema: str, alias_analysis: str) -> Callable[[Function], Function]:
    def wrap(function: Function) -> Function:
        library.impl(library.define(schema, alias_analysis), function)
        return function

    return wrap


def _kept_alive(library: Library) -> Library:
    _keep_alive.append(library)
    return library


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a function for device types (``default`` means all) or dispatch keys; without it, return a decorator.

    With a Library first, it is the older decorator ``impl(lib, name, dispatch_key)``.
    """
    if isinstance(qualname, Library):
        return _implement(qualname, types, func or "")
    return _impl(qualname, types, func, lib)


def _implement(library: Library, name: str, dispatch_key: str) -> Callable[[Function], Function]:
    def wrap(function: Function) -> Function:
        library.impl(name, function, dispatch_key)
        return function

    return wrap


def _impl(qualname: str, types: str | Sequence[str], func: Function | None, lib: Library | None) -> Any:
    requested = (types,) if isinstance(types, str) else types
    keys = dict.fromkeys(one if _C._parse_dispatch_key(one) is not None else _key_of(one) for one in requested)

    def register(function: Function) -> None:
        namespace, _ = names.parse_namespace(qualname)
        used = lib or _kept_alive(Library.made_at(names.IMPL, namespace))
        for key in keys:
            used.impl(qualname, function, key)

    return register if func is None else register(func)


def _key_of(device_type: str) -> str:
    return "CompositeExplicitAutograd" if device_type == "default" else _C._dispatch_key_for_device(device_type)


# -- operators by any name --------------------------------------------------------------------------------------------


def _resolved(op: Any, api: str) -> CustomOpDef | str:
    """Return the custom operator, or the qualified name of another operator. Raise ValueError for anything else."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{api}({op}): got unexpected type for op: {type(op)}")
    definition = opdef_of(op)
    if definition is not None:
        return definition
    return op.name() if isinstance(op, OpOverload) else str(op)


def _library_for(namespace: str, lib: Library | None) -> Library:
    return lib or _kept_alive(Library.made_at(names.REGISTRATION, namespace))


def register_kernel(
    op: Operator, device_types: DeviceTypes, func: Function | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register a function for device types, None meaning all; without it, return a decorator."""
    resolved = _resolved(op, "register_kernel")
    if isinstance(resolved, CustomOpDef):
        return resolved.register_kernel(device_types, func)
    return _impl(resolved, "CompositeExplicitAutograd" if device_types is None else device_types, func, lib)


def register_fake(
    op: Operator,
    func: Function | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register the function for meta tensors; without it, return a decorator. Raise RuntimeError where PyTorch
    refuses.
    """
    resolved = _resolved(op, "register_fake")
    if isinstance(resolved, CustomOpDef):
        return resolved.register_fake if func is None else resolved.register_fake(func)
    levels = _stacklevel

    def register(function: Function) -> Function:
        frame = sys._getframe(levels)
        namespace, op_name = names.parse_namespace(resolved)
        source = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        _library_for(namespace, lib)._register_fake(op_name, function, source, allow_override=allow_override)
        return function

    if func is None:
        return register
    levels += 1
    return register(func)


def register_autograd(
    op: Operator,
    backward: Function,
    /,
    *,
    setup_context: Function | None = None,
    lib: Library | None = None,
) -> None:
    """Register ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs, output)`` for an operator.

    Raise RuntimeError or NotImplementedError for operators that cannot have one.
    """
    resolved = _resolved(op, "register_autograd")
    if isinstance(resolved, CustomOpDef):
        resolved.register_autograd(backward, setup_context=setup_context)
        return
    found = names.lookup_op(resolved)
    _check_differentiable(found)
    namespace, opname = names.parse_namespace(resolved)
    kernel = make_autograd_impl(found, Info(backward, setup_context))
    _library_for(namespace, lib).impl(opname, kernel, "Autograd", with_keyset=True)


def _check_differentiable(op: OpOverload) -> None:
    schema = op._entry.schema
    if Tag.out in op.tags:
        raise RuntimeError(
            f"Cannot register autograd formula for operator tagged with torch.Tag.out: {op}. Out variants do not "
            "support autograd."
        )
    if not properties.is_functional(schema):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )
    if properties.has_kwarg_only_tensors(schema):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {schema}"
        )


def register_autocast(op: Operator, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> Any:
    """Cast floating inputs on the device under autocast, and call the operator again with autocast off."""
    resolved = _resolved(op, "register_autocast")
    if isinstance(resolved, CustomOpDef):
        return resolved.register_autocast(device_type, cast_inputs)
    namespace, opname = names.parse_namespace(resolved)
    kernel, key = autocast_kernel(names.lookup_op(resolved), device_type, cast_inputs)
    return _library_for(namespace, lib).impl(opname, kernel, key, with_keyset=True)


@_stub
def register_vmap(op: Operator, func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Raise NotImplementedError: batch rules are not part of the model."""
    raise NotImplementedError("torch.library.register_vmap is not in dispatchviz's model of PyTorch")


@_stub
def register_torch_dispatch(
    op: Operator, torch_dispatch_class: Any, func: Function | None = None, /, *, lib: Library | None = None
) -> Any:
    """Raise NotImplementedError: ``__torch_dispatch__`` rules are not part of the model."""
    raise NotImplementedError("torch.library.register_torch_dispatch is not in dispatchviz's model of PyTorch")


def get_kernel(op: Operator, dispatch_key: Any) -> _C._SafeKernelFunction:
    """Return the kernel in a dispatch table entry of an operator, for a kernel that overrides it.

    Raise ValueError for anything but an operator or a key, RuntimeError for an unknown operator, an alias key or an
    empty entry.
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    if isinstance(dispatch_key, str) and dispatch_key not in _C.DispatchKey.__members__:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    key = DispatchKey[dispatch_key] if isinstance(dispatch_key, str) else dispatch_key
    return _C._dispatch_get_computed_kernel_for_dispatch_key(op.name() if isinstance(op, OpOverload) else op, key)
