"""The result of ``torch.library.custom_op``: a Python function as an operator (``torch/_library/custom_ops.py``).

Each operator registers its fake impl under Meta, an autograd kernel under Autograd, a kernel under ADInplaceOrView if
it writes or makes views, and the function under the keys of its devices. These kernels look up later additions of the
user (``register_autograd``, ``register_fake``) when they run.
"""

from __future__ import annotations

import logging
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.autograd.variables.variable import increment_version
from dispatchviz.core.device.device import Device
from dispatchviz.core.keys.keys import parse_dispatch_key
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch import _C
from dispatchviz.torch._library import qualified_names as names
from dispatchviz.torch._library import schema_properties as properties
from dispatchviz.torch._library.autograd import make_autograd_impl
from dispatchviz.torch._library.libraries import Library
from dispatchviz.torch._library.return_checks import check_result
from dispatchviz.torch._ops import OpOverload
from dispatchviz.torch.tags import Tag, Tags, normalized

log = logging.getLogger("torch._library.custom_ops")

Function = Callable[..., Any]
DeviceTypes = str | Sequence[str] | None


class CustomOpDef:
    """A custom operator. Calling the object calls the operator."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Function, tags: Tags = None) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._tags = normalized(tags)
        self._init_fn = fn
        self._backend_fns: dict[str | None, Function] = {}
        self._disabled_kernel: set[str | None] = set()
        self._abstract_fn: Function | None = None
        self._setup_context_fn: Function | None = None
        self._backward_fn: Function | None = None
        self._autocast_dtype: dict[str, Any] = {}
        self._lib = _library_allowing_overwrite(self._qualname)
        self._register_to_dispatcher()
        OPDEFS[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _parsed(self) -> FunctionSchema:
        return self._opoverload._entry.schema

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    # -- immediate registrations --------------------------------------------------------------------------------------

    def _register_to_dispatcher(self) -> None:
        text = self._name + self._schema
        if properties.has_kwarg_only_tensors(parse_schema(text)) and Tag.out not in self._tags:
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: " + text
            )
        compliant = (Tag.pt2_compliant_tag, *(tag for tag in self._tags if tag is not Tag.pt2_compliant_tag))
        self._lib.define(text, tags=compliant)
        self._opoverload: OpOverload = names.lookup_op(self._qualname)
        self._is_inplace, self._is_out = Tag.inplace in self._tags, Tag.out in self._tags
        self._lib._register_fake(self._name, self._fake_impl)
        self._lib.impl(self._name, make_autograd_impl(self._opoverload, self), "Autograd", with_keyset=True)
        if properties.is_view(self._parsed) or properties.is_mutable(self._parsed):
            self._register_below_autograd()

    def _fake_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Run the fake impl. Raise RuntimeError if the user gave none and none can be derived."""
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        if self._is_out:
            out = tuple(kwargs[name] for name in properties.written(self._parsed)[1])
            return out[0] if len(out) == 1 else out
        if self._is_inplace:
            return args[0]
        if properties.is_mutable(self._parsed) and not self._parsed.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def _register_below_autograd(self) -> None:
        """Register the C++ kernel for views, and for operators that write a kernel that increments versions."""
        self._lib._live.register_ad_inplace_or_view_fallback(self._name)

        def adinplaceorview_impl(keyset: _C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            return self._count_writes(keyset, *args, **kwargs)

        if properties.is_mutable(self._parsed):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
                self._lib.impl(self._name, adinplaceorview_impl, "ADInplaceOrView", with_keyset=True)

    def _count_writes(self, keyset: _C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Increment versions first, then redispatch below, without a guard."""
        positions, keywords = properties.written(self._parsed)
        all_args, all_kwargs = properties.with_defaults(self._parsed, args, kwargs)
        for value in [all_args[i] for i in positions] + [all_kwargs[name] for name in keywords]:
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, Tensor):
                    increment_version(tensor)
        below = keyset & _C._after_ADInplaceOrView_keyset
        return self._opoverload.redispatch(below, *args, **kwargs)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def register_kernel(self, device_types: DeviceTypes, fn: Function | None = None, /) -> Function:
        """Register a function for devices, None meaning all; without ``fn``, return a decorator.

        Raise ValueError for an operator without tensors if no argument determines the device.
        """
        if device_types is not None and not properties.takes_tensors(self._parsed.arguments):
            self._register_backend_select()
        kinds = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)

        def registered(function: Function) -> Function:
            for kind in kinds:
                self._register_kernel(kind, function)
            return function

        return registered if fn is None else registered(fn)

    def _register_kernel(self, device_type: str | None, function: Function) -> None:
        if device_type not in self._backend_fns:

            def backend_impl(*args: Any, **kwargs: Any) -> Any:
                result = self._backend_fns[device_type](*args, **kwargs)
                check_result(self._name, self._parsed, self._tags, result, args, kwargs)
                return result

            key = "CompositeExplicitAutograd" if device_type is None else _C._dispatch_key_for_device(device_type)
            self._lib.impl(self._name, backend_impl, key)

        def enabled_or_first(*args: Any, **kwargs: Any) -> Any:
            chosen = self._init_fn if device_type in self._disabled_kernel else function
            return chosen(*args, **kwargs)

        self._backend_fns[device_type] = enabled_or_first

    def _register_backend_select(self) -> None:
        """Let the argument ``device`` choose the kernel."""
        position = properties.device_position(self._parsed)
        if position is None:
            raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")

        def backend_select(keyset: _C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            device = Device(args[position]).type
            if device not in self._backend_fns:
                raise RuntimeError(
                    f"{self._name} does not have a kernel registered for {device}. Please use register_kernel to do so."
                )
            keys = _C.DispatchKeySet(parse_dispatch_key(_C._dispatch_key_for_device(device)))
            return self._opoverload.redispatch(keys, *args, **kwargs)

        self._lib.impl(self._name, backend_select, "BackendSelect", with_keyset=True)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Enable or disable the kernel of a device type for a block. If disabled, the first function runs instead."""
        was_disabled = device_type in self._disabled_kernel
        action = "enable" if enabled else "disable"
        if device_type not in self._backend_fns:
            log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.", action, device_type
            )
        if enabled != was_disabled:
            log.warning("Attempted to %s kernel for %s but it was already %sd.", action, device_type, action)
        (self._disabled_kernel.discard if enabled else self._disabled_kernel.add)(device_type)
        try:
            yield
        finally:
            (self._disabled_kernel.add if was_disabled else self._disabled_kernel.discard)(device_type)

    # -- additions of the user ----------------------------------------------------------------------------------------

    def register_fake(self, fn: Function, /) -> Function:
        """Register the function for meta tensors. Warn if the operator's tags already provide one."""
        if self._is_inplace or self._is_out:
            tag = "torch.Tag.inplace" if self._is_inplace else "torch.Tag.out"
            warnings.warn(
                f"The fake registration for {self} is unnecessary. Custom ops tagged with {tag} already get an "
                "autogenerated fake kernel. The provided fake impl will be used instead.",
                stacklevel=2,
            )
        self._abstract_fn = fn
        return fn

    def register_autograd(self, backward: Function, /, *, setup_context: Function | None = None) -> None:
        """Register ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs, output)``.

        Raise RuntimeError for an operator that writes, makes several views or returns nothing.
        """
        if self._is_out:
            raise RuntimeError(
                f"Cannot register autograd formula for operator tagged with torch.Tag.out: {self}. Out variants do not "
                "support autograd."
            )
        if not properties.is_functional(self._parsed, allow_valid_view=True):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {self._parsed}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self._backward_fn = backward
        self._setup_context_fn = setup_context

    def register_vmap(self, func: Function | None = None) -> Any:
        """Raise NotImplementedError: batch rules are not part of the model."""
        raise NotImplementedError("register_vmap is not in dispatchviz's model of PyTorch")

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Function | None = None, /) -> Any:
        """Raise NotImplementedError: ``__torch_dispatch__`` rules are not part of the model."""
        raise NotImplementedError("register_torch_dispatch is not in dispatchviz's model of PyTorch")

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Function:
        """Cast floating inputs on the device under autocast, and call the operator again with autocast off.

        Raise ValueError for a device type without autocast.
        """
        from dispatchviz.torch._library.autocast import autocast_kernel

        kernel, key = autocast_kernel(self._opoverload, device_type, cast_inputs)
        if device_type not in self._autocast_dtype:
            self._autocast_dtype[device_type] = cast_inputs
            self._lib.impl(self._name, kernel, key, with_keyset=True)
        return kernel


OPDEFS: weakref.WeakValueDictionary[str, CustomOpDef] = weakref.WeakValueDictionary()
"""Qualified name -> custom operator, as long as it is referenced elsewhere."""

_libraries: dict[str, Library] = {}
"""Qualified name -> the library that holds a custom operator's registrations."""


def _library_allowing_overwrite(qualname: str) -> Library:
    """Return the library for a custom operator. A second operator of one name replaces the first."""
    previous = _libraries.pop(qualname, None)
    if previous is not None:
        previous._destroy()
    made = _libraries[qualname] = Library.made_at(names.CUSTOM_OP, qualname.partition("::")[0])
    return made


def opdef_of(op: CustomOpDef | OpOverload | str) -> CustomOpDef | None:
    """Return the custom operator for a name or an overload, or None."""
    if isinstance(op, CustomOpDef):
        return op
    return OPDEFS.get(op.name() if isinstance(op, OpOverload) else op)
