"""Our kernels in the dispatch table entries of an installed PyTorch, only while a part of the program is recorded.

Putting kernels in front of all entries takes half a second. So while the part runs, the thread includes one more key,
``GATE``, which no program uses and which has a higher priority than all keys that are watched. Its fallback gets the
first call of each operator: it puts our kernels into the entries of that operator, with a fallthrough for the gate
itself, and calls the operator on. So later calls go straight to our kernels, and all key sets are those of a whole
recording. When the part is over, the key is no longer included and the entries get their old contents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import active_count
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BACKEND_MASK, DispatchKey
from dispatchviz.core.record.event_filter import names_operator
from dispatchviz.live.kernel_calls import overriding
from dispatchviz.live.registration import defined_operators
from dispatchviz.live.watched_cells import (
    FUNCTIONALIZE,
    FUNCTORCH,
    LEFT_ALONE,
    PYTHON,
    TRACER,
    WITHOUT_TENSORS,
    MakeStep,
    Step,
    WatchedCells,
)
from dispatchviz.live.wrapped_numbers import KINDS

if TYPE_CHECKING:
    from dispatchviz.live.looking import Looking
    from dispatchviz.live.watched_operators import WatchedOperators

GATE = "TESTING_ONLY_GenericMode"
"""The key that a thread includes while a part is recorded."""

K = DispatchKey
RARE = tuple(
    (raw(key) & ~BACKEND_MASK, key.name)
    for key in (
        *(K.SparseCPU, K.SparseCsrCPU, K.QuantizedCPU, K.NestedTensorCPU, K.MkldnnCPU),
        *(K.SparseCUDA, K.SparseCsrCUDA, K.QuantizedCUDA, K.NestedTensorCUDA, K.AutogradNestedTensor),
    )
)
"""Bits of keys that are watched only when the first tensor with one of them is met, each with its key. With fewer
kernels in each operator a part begins faster.
"""
MANY_KEPT = 1 << 12
"""The number of kernels that are kept after they were taken out, while there are other threads."""

Cells = list[tuple[str, Step]]
"""The keys of an operator's watched entries, each with our kernel."""


class WatchedParts(WatchedCells):
    """Our kernels in the entries of the operators that a part of the program calls."""

    def __init__(
        self, torch: Any, make_step: MakeStep, operators: WatchedOperators, numbers: Callable[..., Any]
    ) -> None:
        super().__init__(torch, make_step)
        c = self._c
        self._operators, self._numbers = operators, numbers
        self._gate = c._dispatch_key_parse(GATE)
        self._gate_set = c.DispatchKeySet(self._gate)
        self._include: Callable[[Any, bool], None] = c._dispatch_tls_set_dispatch_key_included
        self._modes: Callable[[], int] = getattr(c, "_len_torch_dispatch_stack", lambda: 0)
        self._fallthrough = torch.library.fallthrough_kernel
        self._fallback: Any = None
        """The library with the fallback of the gate; None before it is first needed."""
        self.looking: Looking
        self._always: tuple[str, ...] = ()
        """The operators whose calls open the part."""
        self._rare: tuple[tuple[int, str], ...] = ()
        self._calls_on: dict[str, Step] = {}
        """The method that calls an operator with a key set, by operator."""
        self._kept: deque[Any] = deque(maxlen=MANY_KEPT)
        self._lifted: set[str] = set()
        """The operators that are not to be watched for a moment."""
        self._in: set[str] = set()
        """The operators whose entries have our kernels now."""
        self._made: dict[str, Cells] = {}
        """Our kernels by operator, made once."""
        self._is_all_in = False
        """True while all entries have our kernels, because calls may not pass the gate."""
        self._apart = 0
        self._is_looking = False

    @property
    def gate_bits(self) -> int:
        """The raw bits of the gate's key set."""
        return int(self._gate_set.raw_repr())

    @property
    def is_apart(self) -> bool:
        """True while none of our kernels may be in an entry."""
        return self._apart > 0 or self._away

    @property
    def watched(self) -> list[str]:
        """The operators whose entries have our kernels now, sorted."""
        return sorted(self._in)

    def put(self) -> None:
        """Put our kernels only into the entries of the operators whose calls open the part."""
        there = self._keys_from_the_start()
        self._rare = tuple((bits, key) for bits, key in RARE if key in there)
        rare = {key for _, key in self._rare}
        self._keys.update({key: self._c._dispatch_key_parse(key) for key in there if key not in rare})
        patterns = self.looking.plan.only.op if self.looking.plan.opener == "op" else ()
        names = defined_operators(self._c) if patterns else ()
        self._always = tuple(name for name in names if any(names_operator(one, name) for one in patterns))
        self._put_always()
        if self.looking.counts_calls:
            self._put_gate()
            self._include(self._gate, True)

    def _put_always(self) -> None:
        for operator in self._always:
            self._put_operator(operator, self.looking.kernel)

    def end_waiting(self) -> None:
        """Take everything out, because the part will not run again."""
        self._always = ()
        self._include(self._gate, False)
        self._lift_all()

    # -- while the part runs ------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Begin to watch all calls of this thread."""
        self._is_looking = True
        self.waiting = sum(
            bits for bits, keys in self._on_demand if bits == PYTHON or any(key.name not in self._keys for key in keys)
        )
        self.waiting |= sum(bits for bits, key in self._rare if key not in self._keys)
        if self._modes():  # calls within a handler exclude the gate
            self.meet(PYTHON)
        if self._c._functorch.get_interpreter_stack():
            self.meet(FUNCTORCH | FUNCTIONALIZE)
        if self._c._get_tracing_state() is not None:
            self.meet(TRACER)
        if not self._is_all_in:
            self._put_gate()
            self._include(self._gate, True)

    def look_again(self) -> None:
        """Watch all calls of this thread again, because its thread-local sets were restored."""
        if not self._is_all_in:
            self._include(self._gate, True)

    def look_away(self) -> None:
        """Stop watching the calls of this thread."""
        self._is_looking = False
        self._include(self._gate, self.looking.counts_calls)
        if self._is_all_in:
            self._is_all_in = False
            self._lift_all()
            self._put_always()
        else:
            self._lift_parts(self._in.difference(self._always))

    def _lift_parts(self, operators: Iterable[str]) -> None:
        for operator in list(operators):
            super().lift((operator,))
            self._in.discard(operator)
        if self.python.put:
            with overriding(self._c):
                self.python.restore()

    def meet(self, ks: int) -> None:
        """Watch the keys of a key set that was met while the part runs."""
        if not self._is_looking:
            return
        before = len(self._keys)
        if ks & self.waiting & PYTHON and not self._is_all_in:
            self._watch_all()
        rare = [key for bits, key in self._rare if ks & bits and key not in self._keys]
        if rare:
            self._put(list(self._cells_of(rare)))
        super().meet(ks)
        if len(self._keys) != before:
            self._made.clear()

    def _watch_all(self) -> None:
        """Put our kernels into all entries for the rest of the part."""
        self._include(self._gate, False)
        self._lift_all()
        self._is_all_in = True
        self._put_all(list(self._keys))

    def _put_gate(self) -> None:
        if self._fallback is None:
            self._fallback = self._c._dispatch_library("IMPL", "_", GATE, __file__, 0)
            self._fallback.fallback(GATE, self._called, True)

    def _called(self, keys: Any, operator: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Handle the first call of an operator in the part. This is the fallback of the gate."""
        name = operator.name()
        given = args
        if not KINDS.isdisjoint(map(type, args)):
            given = self._operators.of(name).with_tensors((keys, *args), self._numbers(args))[1:]
        keys = keys - self._gate_set
        call = self._calls_on.get(name)
        if call is None:
            call = self._c._dispatch_find_schema_or_throw(*name.partition(".")[::2]).redispatch_boxed
            self._calls_on[name] = call
        if self._is_looking:
            self.put_first(name)
            return call(keys, *given, **kwargs)
        self._include(self._gate, False)  # calls within this one are not counted
        try:
            return self.looking.any_call(lambda: self._called_first(name, lambda: call(keys, *given, **kwargs)))
        finally:
            self._include(self._gate, self.looking.counts_calls)

    def _called_first(self, name: str, call: Callable[[], Any]) -> Any:
        if self._is_looking:
            self.put_first(name)
        return call()

    def put_first(self, operator: str) -> None:
        """Put our kernels into the entries of an operator that the part calls."""
        if operator not in self._in | self._lifted and not self._is_all_in and not self._apart:
            self._put_operator(operator, lambda step: step)

    def _put_operator(self, operator: str, changed: Callable[[Step], Step]) -> None:
        cells = self._made.get(operator)
        with overriding(self._c):
            if cells is None:
                by_python = len(self.python.put)
                cells = self._cells(operator)
                if len(self.python.put) == by_python:  # else each time is prepared again
                    self._made[operator] = cells
            library = self._library(operator)
            for key, step in cells:
                self._calls.put(operator, key, changed(step), library)
            library.impl(operator, GATE, self._fallthrough)
        if active_count() > 1:
            self._keep(operator, [key for key, _ in cells])
        self._in.add(operator)

    def _keep(self, operator: str, keys: Iterable[str]) -> None:
        """Keep PyTorch's objects of our kernels for a while: another thread that has just selected one may still wait
        for the GIL when it is taken out.
        """
        kernel = self._c._dispatch_get_computed_kernel_for_dispatch_key
        self._kept.extend(kernel(operator, self._key(key)) for key in keys if key in self._keys)

    def _cells(self, operator: str) -> Cells:
        """Make our kernels for the entries of an operator, none of which is in place now."""
        found: Cells = []
        if operator in LEFT_ALONE:
            return found
        for key in [key for key in self._keys if self._holds_kernel(operator, key)]:
            found += [(key, step)] if (step := self._step_of(operator, key)) is not None else []
        if operator in WITHOUT_TENSORS and (step := self._step_of(operator, "Undefined")) is not None:
            found.append((WITHOUT_TENSORS[operator], step))
        return found + [(key, self._error_of(operator)) for key in self._empty_backends(operator)]

    # -- changes meanwhile --------------------------------------------------------------------------------------------

    def lift(self, operators: Iterable[str]) -> None:
        """Take our kernels of some operators out of their cells, until ``put_again``."""
        operators = tuple(operators)
        super().lift(operators)
        self._lifted.update(operators)

    def put_again(self, operators: Sequence[str]) -> None:
        """Put our kernels into the cells of operators whose registrations have changed."""
        self._lifted.difference_update(operators)
        for operator in operators:
            self._made.pop(operator, None)
        if self._is_all_in:
            super().put_again(operators)
        for operator in self._in.intersection(operators):
            if operator in self._always:
                self._put_operator(operator, self.looking.kernel)
            else:
                self._put_operator(operator, lambda step: step)

    def take_out(self) -> None:
        """Take our kernels out of all cells, and the gate."""
        self._is_looking = False
        self._include(self._gate, False)
        self._always = ()
        super().take_out()
        self._fallback = None

    def _lift_all(self) -> None:
        super()._lift_all()
        self._in.clear()

    @contextmanager
    def out(self) -> Iterator[None]:
        """Take our kernels out of all cells inside the block."""
        looking, everything = self._is_looking, self._is_all_in
        self._apart += 1
        self._include(self._gate, False)
        self._lift_all()
        try:
            yield
        finally:
            self._apart -= 1
            if not self._apart:
                self._put_always()
                if looking and everything:
                    self._put_all(list(self._keys))
                else:
                    self._include(self._gate, looking or self.looking.counts_calls)

    @contextmanager
    def without(self, key: str) -> Iterator[None]:
        """Take our kernels out of the cells of a key inside the block."""
        keys = self._keys
        self._set_keys({name: parsed for name, parsed in keys.items() if name != key})
        try:
            yield
        finally:
            self._set_keys(keys)

    def _set_keys(self, keys: dict[str, Any]) -> None:
        self._lift_parts(self._in.difference(self._always))
        self._keys = keys
        self._made.clear()

    def _names(self) -> set[str]:
        return super()._names() if self._is_all_in else self._in
