"""One operator for Python, and all overloads of a name: ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add``.

Mirrors ``OpOverload`` and ``OpOverloadPacket`` of ``torch/_ops.py``. The lookup is in ``_ops.py``.

NB: in PyTorch, packets also have overloads that only TorchScript knows (``aten::add.int``); here they have only the
dispatcher's operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dispatchviz.core.bindings.python_keys import machine_key
from dispatchviz.core.call.dispatcher import call_boxed, entry_for, redispatch_boxed, run_boxed, run_with_objects
from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.python_side.operator_arguments import SchemaMatchError, matching_stack, stack_for, tensors_for
from dispatchviz.core.table.library import process
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.torch.function_schema import FunctionSchema
from dispatchviz.torch.operator_base import OperatorBase, OperatorHandle, call_for_dispatch_key, results, results_of
from dispatchviz.torch.tags import Tag, tags_of

if TYPE_CHECKING:
    from dispatchviz.core.record.events.dispatch_events import CallKind
    from dispatchviz.core.table.operator_entry import Cell


class OpOverload(OperatorBase):
    """One operator. Each operator has one object, so identity is equality."""

    def __init__(self, packet: OpOverloadPacket, entry: OperatorEntry) -> None:
        super().__init__()
        self._overloadpacket = packet
        self._last_entry = entry
        self._schema = FunctionSchema(entry.schema)
        self._name = self.__qualname__ = entry.name
        self._namespace, self._opname = self._schema.name.split("::", 1)
        self._overloadname = self._schema.overload_name or "default"
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__module__ = f"torch._ops.{self._namespace}"
        self._tags = tags_of.get(entry.name, [])
        self._defined_in_python = entry.name in defined_in_python
        self.is_view = self._schema._is_view_op()
        self._passes_objects = False

    def name(self) -> str:
        """Return the full name, such as ``aten::add.Tensor``."""
        return self._name

    @property
    def _entry(self) -> OperatorEntry:
        """The operator of this name. Raise RuntimeError if it was destroyed and not defined again."""
        if not self._last_entry.has_schema:
            self._last_entry = process.find(self._name)
        return self._last_entry

    @property
    def namespace(self) -> str:
        """The namespace, such as ``aten``."""
        return self._namespace

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet that this overload belongs to."""
        return self._overloadpacket

    @property
    def tags(self) -> list[Tag]:
        """The tags of its definition."""
        return self._tags

    @cached_property
    def _handle(self) -> OperatorHandle:
        return OperatorHandle.of(self._entry)

    @property
    def op(self) -> Any:
        """The callable of the overload."""
        return self._op

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __deepcopy__(self, memo: object = None) -> OpOverload:
        return self

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run ``callBoxed`` with the arguments in schema order. Raise RuntimeError if they do not fit the schema."""
        return self._op(*args, **kwargs)

    def _op(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._passes_objects and not kwargs:
            objects = tensors_for(self._entry.schema, args)
            if objects is not None:
                return self._with_objects("pyobject_dispatch", *entry_for(self._entry, objects), objects, {})
        return self._boxed(*args, **kwargs)

    def _boxed(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._run(stack_for(self._entry.schema, args, kwargs, numbers_as_tensors=True))

    def _run(self, stack: list[Any]) -> Any:
        entry, schema = self._entry, self._entry.schema  # the call may destroy the entry
        call_boxed(entry, stack)
        return results_of(schema, stack)

    def redispatch(self, /, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel that a key set selects, without mask and thread-local state. Raise TypeError for anything but
        a key set; AttributeError if Python objects are passed on.
        """
        if self._passes_objects:
            raw = keyset.raw_repr()
            cell = self._entry.redispatch_lookup[raw]
            return self._with_objects("pyobject_redispatch", cell, raw, args, kwargs)
        if not isinstance(keyset, DispatchKeySet):
            raise TypeError(
                "redispatch_boxed(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: object, arg0: c10::DispatchKeySet, *args, **kwargs) -> object\n"
            )
        stack = stack_for(self._entry.schema, args, kwargs)
        redispatch_boxed(self._entry, keyset.raw_repr(), stack)
        return results(self._entry, stack)

    def _with_objects(self, how: CallKind, cell: Cell, ks: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Pass Python objects to a Python kernel, without a check of their types or of the result. A kernel of C++ gets
        a stack.
        """
        python = None if cell.kernel is None else cell.kernel.python
        if python is not None:
            return run_with_objects(how, cell, python, ks, args, kwargs)
        schema = self._entry.schema
        stack = stack_for(schema, args, kwargs)
        run_boxed(how, self._entry, cell, ks, stack)
        return results_of(schema, stack)

    def _is_pyobj_dispatcher_enabled(self) -> bool:
        return self._passes_objects

    def _can_enable_pyobj_dispatch(self) -> bool:
        return all(returned.type == "Tensor" for returned in self._entry.schema.returns)

    def _enable_pyobj_dispatch(self, enabled: bool = True) -> None:
        self._passes_objects = enabled and self._can_enable_pyobj_dispatch()

    def _op_dk(self, key: Any, /, *args: Any, **kwargs: Any) -> Any:
        """``callBoxedForDispatchKey``: run the kernel registered for the key itself, or the key's fallback."""
        stack = stack_for(self._entry.schema, args, kwargs, numbers_as_tensors=True)
        call_for_dispatch_key(self._entry, machine_key(key), stack)
        return results(self._entry, stack)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Return whether a kernel is registered for the key itself, in C++ or in Python."""
        return super().has_kernel_for_dispatch_key(k) or self._entry.kernel(machine_key(k)) is not None

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        """Return whether a kernel is registered for one of the runtime keys of a set."""
        registered = any(not key.is_alias and ks.has(key) for key in self._entry.registrations)
        return registered or super().has_kernel_for_any_dispatch_key(ks)

    def _can_decompose(self) -> bool:
        return self.has_kernel_for_dispatch_key(DispatchKey.CompositeImplicitAutograd)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Run the CompositeImplicitAutograd kernel; NotImplemented if there is none."""
        key = DispatchKey.CompositeImplicitAutograd
        if key in self.py_kernels:
            return self.py_kernels[key](*args, **kwargs)
        return self._op_dk(key, *args, **kwargs) if self._can_decompose() else NotImplemented


defined_in_python: set[str] = set()
"""Full names of the operators that ``torch.library`` defined."""


class OpOverloadPacket:
    """All overloads of one name. A call runs the first whose schema fits."""

    __file__ = "torch.ops"

    def __init__(self, qualified_name: str, overload_names: list[str]) -> None:
        self._qualified_op_name = qualified_name
        namespace, self.__name__ = qualified_name.split("::", 1)
        self.__module__ = f"torch._ops.{namespace}"
        self._overload_names = overload_names
        self._dir: list[str] = []

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __deepcopy__(self, memo: object = None) -> OpOverloadPacket:
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def overloads(self) -> list[str]:
        """Return the names of the overloads; ``default`` is the empty overload name."""
        return [name or "default" for name in self._overload_names]

    def op_overloads(self) -> list[OpOverload]:
        """Return all overloads."""
        return [getattr(self, name) for name in self.overloads()]

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {name: getattr(self, name or "default")._schema for name in self._overload_names}

    def __getattr__(self, key: str) -> OpOverload:
        if key.startswith("__"):
            raise AttributeError(
                f"'{self}' can't have an overload name beginning with '__' and the underlying op "
                f"{self._qualified_op_name} has no attribute {key} either."
            )
        entry = _defined(self._qualified_op_name if key == "default" else f"{self._qualified_op_name}.{key}")
        if entry is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{key}'")
        overload = OpOverload(self, entry)
        setattr(self, key, overload)
        self._dir.append(key)
        return overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the first overload whose schema fits. Raise RuntimeError if none does."""
        overloads = self.op_overloads()
        if len(overloads) == 1:
            return overloads[0]._boxed(*args, **kwargs)
        failures = []
        for overload in overloads:
            try:
                stack = matching_stack(overload._entry.schema, args, kwargs)
            except SchemaMatchError as error:
                failures.append(f"{error}\n\n")
                continue
            return overload._run(stack)
        head = "Overloaded torch operator invoked from Python failed to match any schema:\n"
        raise RuntimeError(head + "".join(failures))


def _defined(name: str) -> OperatorEntry | None:
    """Return the operator if it has a schema, else None."""
    entry = process.get(name)
    return entry if entry is not None and entry.has_schema else None


def overload_names(qualified_name: str) -> list[str]:
    """Return the overload names of the defined operators of a name, in order of definition."""
    known = [name for name in process.names() if name.partition(".")[0] == qualified_name]
    return [name.partition(".")[2] for name in known if _defined(name) is not None]
