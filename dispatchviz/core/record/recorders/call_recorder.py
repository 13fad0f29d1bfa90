"""The recorder of the dispatcher: calls, redispatches, results of kernels, boxing, structured kernels,
registrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.call.dispatcher import generator_keys, tensor_arguments
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.python_recorder import PythonRecorder
from dispatchviz.core.record.recorders.recorder_base import tensors_in
from dispatchviz.core.record.recorders.result_hash import has_own_numbers, result_hash
from dispatchviz.core.record.recorders.stack_contents import contents
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.kernel.kernel_function import Kernel
    from dispatchviz.core.keys.keys import DispatchKey
    from dispatchviz.core.record.note_types import Failed
    from dispatchviz.core.schema.function_schema import Argument
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
    from dispatchviz.core.tensor.dtype import DType
    from dispatchviz.core.tensor.tensor import Tensor

_FAILED: Failed = ("failed",)


class CallRecorder(PythonRecorder):
    """The recorder's methods for the dispatcher and its registrations."""

    _own_numbers: dict[OperatorEntry, tuple[bool, ...]] | None = None
    _last_hash: tuple[int, str] = -1, ""
    """The tensor and hash that were recorded last. A kernel that passes the result on adds nothing."""

    def called(self, how: ev.CallKind, cell: Cell, ks: int, args: Sequence[Any], /) -> None:
        """Record the beginning of a full dispatch, with all arguments in schema order. The dispatch table entry and the
        effective set are chosen already.
        """
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        arguments = tensor_arguments(cell.operator, args)
        sets = tuple([(name, self._serial(tensor), tensor._ks) for name, tensor in arguments])
        keys = generator_keys(cell.operator, args) if how == "call" else 0
        self.note(("called", how, cell, ks, state.included, state.excluded, sets, keys))

    def redispatched(self, how: ev.CallKind, cell: Cell, ks: int, /) -> None:
        """Record the beginning of a redispatch."""
        self.note(("redispatched", how, cell, ks))

    def returned(self, result: Any, /) -> None:
        """Record that the kernel returned, which ends the call."""
        values = result if isinstance(result, (list, tuple)) else (result,)
        if any(isinstance(value, (list, tuple)) for value in values):  # a stack has a list of tensors as one value
            values = [one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))]
        self.note(("returned", tuple([self._serial(value) for value in values if hasattr(value, "_ks")])))

    def result_hashed(self, op: OperatorEntry, result: Any, /) -> None:
        """Record the hashes of the numbers that a kernel is about to return, if hashes are requested."""
        values = result if isinstance(result, (list, tuple)) else (result,)
        own = self._own_numbers_of(op)
        if len(own) != len(values):  # a list of tensors is one return, and Python kernels return what they like
            own = (all(own),) * len(values)
        for value, is_own in zip(values, own, strict=True):
            if is_own:
                for tensor in tensors_in(value):
                    self._hash(tensor)

    def _own_numbers_of(self, op: OperatorEntry) -> tuple[bool, ...]:
        if self._own_numbers is None:
            self._own_numbers = {}
        known = self._own_numbers.get(op)
        if known is None:
            known = self._own_numbers[op] = has_own_numbers(op.schema)
        return known

    def _hash(self, tensor: Tensor) -> None:
        found = result_hash(tensor)
        if found is not None and self._last_hash != (now := (self._tensor(tensor), found)):
            self._last_hash = now
            self._emit(ev.ResultHashed, *now)

    def call_failed(self, error: BaseException) -> None:
        """Record that the kernel raised, which ends the call."""
        self.error_raised(error)
        self.note(_FAILED)

    def boxed(self, op: OperatorEntry, values: Sequence[Any], declared: Sequence[Argument]) -> None:
        """Record that values were pushed onto a stack. ``declared`` are the arguments or returns of the schema."""
        self._emit(ev.Boxed, op.name, len(values), contents(values, declared, self._tensor))

    def unboxed(self, op: OperatorEntry, values: Sequence[Any], declared: Sequence[Argument]) -> None:
        """Record that values were popped off a stack."""
        self._emit(ev.Unboxed, op.name, len(values), contents(values, declared, self._tensor))

    def torch_dispatch_entered(
        self,
        kind: ev.TorchDispatchKind,
        handler: str,
        op: OperatorEntry,
        types: Iterable[type],
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Open the event of a ``__torch_dispatch__`` of a mode or subclass. The thread already has the include and
        exclude sets under which it runs.
        """
        named = [*((f"args[{i}]", value) for i, value in enumerate(args)), *kwargs.items()]
        self._emit_span(
            ev.TorchDispatchEntered,
            kind,
            handler,
            f"{op.schema.name.replace('::', '.')}.{op.schema.overload or 'default'}",
            tuple(t.__name__ for t in types),
            tuple((name, self._value_text(value)) for name, value in named),
            thread.state.included,
            thread.state.excluded,
            len(thread.state.modes),
        )

    def torch_dispatch_left(self, handler: str, result: Any) -> None:
        """Record the handler's result. ``leave`` follows."""
        tensors = tuple(self._tensor(tensor) for tensor in tensors_in(result))
        self._emit(ev.TorchDispatchLeft, handler, tensors, result is NotImplemented)

    # -- structured kernels -------------------------------------------------------------------------------------------

    def output_allocated(
        self,
        variant: ev.StructuredVariant,
        tensor: Tensor,
        resized: bool,
        shape: tuple[int, ...],
        dtype: DType,
        method: ev.SetOutputMethod,
        proxy: Tensor | None,
        /,
    ) -> None:
        """Record that ``set_output`` is done. If the kernel cannot use the output's strides, it writes to a proxy."""
        proxy_number = None if proxy is None else self._serial(proxy)
        number = self._serial(tensor)
        self.note(("output_allocated", variant, number, resized, shape, dtype, method, proxy_number))

    def proxy_copied(self, proxy: Tensor, output: Tensor) -> None:
        """Record that the data of a proxy is copied to the output."""
        self.note(("proxy_copied", self._serial(proxy), self._serial(output)))

    # -- registrations ------------------------------------------------------------------------------------------------

    def registrations_change(self) -> None:
        """Prepare for a change of registrations of an operator or the process, since earlier notes refer to the old
        ones.
        """
        self.settle()
        self.builder.registrations_change()

    def operator_defined(self, op: OperatorEntry) -> None:
        """Record ``def``."""
        fallbacks = sum(cell.reason == FALLBACK for cell in op.table)
        filled = sum(cell.kernel is not None for cell in op.table)
        self._emit(ev.OperatorDefined, op.name, str(op.schema), fallbacks, filled - fallbacks)

    def kernel_registered(self, op: OperatorEntry | None, key: DispatchKey, kernel: Kernel, removed: bool) -> None:
        """Record ``impl`` or, without an operator, ``fallback``; or its removal."""
        self._emit(ev.KernelRegistered, op.name if op else "", key.name, kernel.name, removed)

    def cells_recomputed(self, op: OperatorEntry, keys: Iterable[DispatchKey]) -> None:
        """Record that dispatch table entries changed."""
        self._emit(ev.CellsRecomputed, op.name, tuple(key.name for key in keys))
