"""One operator: its registrations, and the dispatch table computed from them.

This module mirrors ``aten/src/ATen/core/dispatch/OperatorEntry.cpp`` and the masks of ``DispatchKeyExtractor.h``.
Registrations are given. The table, the masks and the two look-up tables of the dispatcher are derived. A *cell* is an
entry of the dispatch table.

Rule 1 (precedence): a cell takes the kernel that ``candidates`` yields as taken (``precedence.py`` has the order).
Rule 2 (recomputation): a change under key d recomputes the cells of ``affected_by(d)`` and no others. A cell that is
missed there stays as it was: PyTorch has the same stale cells.
Rule 3 (laziness): a table exists once it has been read. Registrations before that belong to the process's stock, whose
order makes no difference. ``Library`` reads the table before it registers, so that Rule 2 holds for everything that
users do.

Not here: texts about an operator (``dump.py``), calling conventions (``boxing.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from dispatchviz.core.kernel.boxing import Boxed, Typed, boxed_form, typed_form
from dispatchviz.core.kernel.cpp_signature import CppSignatureWithDebug
from dispatchviz.core.kernel.guarded_redispatch import Guarded, redispatch_within
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.key_set import table_index
from dispatchviz.core.keys.keys import CELL, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import Mode, process_modes
from dispatchviz.core.table import dump
from dispatchviz.core.table.fallthrough_mask import FallthroughMasks
from dispatchviz.core.table.precedence import (
    AMBIGUOUS,
    BACKEND_KEYS_FROM_AUTOGRAD,
    COVERING_RULES,
    FALLBACK,
    MATH,
    MISSING,
    RULES,
    PrecedenceRule,
    affected_by,
)
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd, ExcludeFixed
from dispatchviz.foundation.unlocked_property import cached_property

if TYPE_CHECKING:
    from dispatchviz.core.record.events.dispatch_events import CellReason

K = DispatchKey
T = TypeVar("T")

TAKEN = "taken"
NOTHING = "nothing registered"
NOT_CONSIDERED = "not reached"
"""The outcome of a candidate after a better one was taken."""
NOT_COVERED = "does not cover "
"""The beginning of the outcome of an alias that does not include the key; the key follows."""


class Source(Protocol):
    """A provider of the definition and the kernels of operators, asked when they are first needed."""

    def schema(self, name: str) -> FunctionSchema:
        """Return the schema of an operator that it has."""

    def debug(self, name: str) -> str:
        """Return the place of the operator's definition."""

    def alias_analysis(self, name: str) -> str:
        """Return the kind of alias analysis, as dumps print it."""

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Return the operator's kernels per key or alias, newest first."""


FROM_SCHEMA = "FROM_SCHEMA"
"""The kind of alias analysis of nearly all operators."""

CONSERVATIVE = "CONSERVATIVE"
"""The kind of alias analysis of operators that were defined by a kernel, without a schema."""


class Candidate(NamedTuple):
    """A possible source of a cell's kernel."""

    source: DispatchKey
    """The key or alias. For the backend fallback, which is always the last, it is the cell's own key."""
    reason: CellReason
    """PyTorch's tag of this choice."""
    outcome: str
    """``taken``, ``nothing registered``, ``not reached`` (a better one was taken) or the reason why it was passed
    over.
    """
    kernel: Kernel | None


class Cell:
    """An entry of the dispatch table: the kernel and its source.

    ``function(ks, *args)`` and ``boxed(ks, stack)`` run it. Without a kernel, both raise PyTorch's error.
    """

    __slots__ = ("__dict__", "index", "kernel", "key", "operator", "reason", "source")

    def __init__(
        self, op: OperatorEntry, key: DispatchKey, kernel: Kernel | None, reason: CellReason, source: DispatchKey | None
    ) -> None:
        self.operator = op
        self.key = key
        self.index = CELL[key]
        self.kernel = kernel
        self.reason = reason
        self.source = source
        """The key or alias under which the kernel is registered; None if there is no kernel."""

    @cached_property
    def function(self) -> Typed:
        """The function to run, with the arguments of a typed kernel."""
        return self.operator.missing if self.kernel is None else typed_form(self.operator, self.kernel)

    @property
    def falls_through(self) -> bool:
        """True if calls skip it."""
        return self.kernel is not None and self.kernel.fallthrough

    @cached_property
    def boxed(self) -> Boxed:
        """The function to run for a caller with a stack."""
        if self.kernel is None:
            return self.operator.missing
        return boxed_form(self.operator, self.kernel)


class OperatorEntry:
    """An operator's schema, registrations and tables."""

    rules = RULES
    covering_rules = COVERING_RULES
    """The possible sources of each cell's kernel, best first, without those that do not cover it."""

    def __init__(self, name: str, fallbacks: Mapping[DispatchKey, Kernel], source: Source | None = None) -> None:
        self.name = name
        """The name with the namespace and the overload: ``aten::add.Tensor``, ``aten::sum``."""
        self.has_schema = source is not None
        """True if the operator was defined."""
        self.fixed_signatures: dict[bool, CppSignatureWithDebug] = {}
        """The signatures of typed kernels and the kernels that fixed them: False for plain integers, True for symbolic
        sizes.
        """
        self.report_error_callback: Callable[[str], object] | None = None
        """A function that is called with the key of a failed lookup, instead of PyTorch's own report. It must raise."""
        self._source = source
        self._fallbacks = fallbacks
        self._table: list[Cell] | None = None
        self._masks = FallthroughMasks()
        self.lookup = Filled(self._cell_of_call)
        """The cell and the effective set, by the key set of a call before the mask."""
        self.redispatch_lookup = Filled(self._cell_of_redispatch)
        """The cell, by the key set of a redispatch, which is used unchanged."""
        self.kernels = FilledByMode(self._kernel_of_call)
        """The same as ``lookup``, with functions to run instead of cells. Every call reads it."""
        self.redispatch_kernels = FilledByMode(self._kernel_of_redispatch)
        """The same as ``redispatch_lookup``, with functions to run instead of cells."""
        self.redispatch_within_AutoDispatchBelowAutograd = self._within(AutoDispatchBelowAutograd)
        self.redispatch_within_AutoDispatchBelowADInplaceOrView = self._within(AutoDispatchBelowADInplaceOrView)
        """The function that runs within the guard, by the key set of a redispatch. It is called with all arguments
        except the set.
        """

    @property
    def schema(self) -> FunctionSchema:
        """The schema. Raise RuntimeError if the operator was never defined (only kernels were registered)."""
        if self._schema is None:
            raise RuntimeError(
                f"Could not find schema for {dotted(self.name)} but we found an implementation; "
                "did you forget to def() the operator?"
            )
        return self._schema

    @cached_property
    def _schema(self) -> FunctionSchema | None:
        return self._source.schema(self.name) if self._source else None

    @cached_property
    def debug(self) -> str:
        """The place of the definition."""
        return self._source.debug(self.name) if self._source else ""

    @cached_property
    def alias_analysis(self) -> str:
        """The kind of alias analysis, as dumps print it."""
        return self._source.alias_analysis(self.name) if self._source else FROM_SCHEMA

    @cached_property
    def tensor_parameters(self) -> tuple[tuple[str, int], ...]:
        """The name and position of the arguments whose keys count."""
        return tuple([(self.schema.arguments[i].name, i) for i in self.schema.tensor_positions])

    @cached_property
    def generator_position(self) -> int | None:
        """The position of the argument that is a random generator."""
        kinds = [argument.type for argument in self.schema.arguments]
        return kinds.index("Generator?") if "Generator?" in kinds else None

    # -- registrations ------------------------------------------------------------------------------------------------

    @cached_property
    def registrations(self) -> dict[DispatchKey, list[Kernel]]:
        """The kernels per key or alias, newest first. The first one is active."""
        return self._source.registrations(self.name) if self._source else {}

    def define(self, schema: FunctionSchema | None, debug: str = "", alias_analysis: str = FROM_SCHEMA) -> None:
        """Set the schema, or remove it with None."""
        self.has_schema = schema is not None
        self._schema = schema
        self.debug = debug
        self.alias_analysis = alias_analysis

    def register(self, key: DispatchKey, kernel: Kernel, catch_all: bool = False) -> None:
        """Put a kernel in front of the others of a key, and recompute the cells that PyTorch recomputes."""
        recorder.registrations_change()
        self.registrations.setdefault(key, []).insert(0, kernel)
        self._recompute(RUNTIME_KEYS if catch_all else affected_by(key))

    def deregister(self, key: DispatchKey, kernel: Kernel) -> None:
        """Remove a kernel, active or not."""
        recorder.registrations_change()
        kernels = self.registrations[key]
        kernels.remove(kernel)
        if not kernels:
            del self.registrations[key]
        self._recompute(affected_by(key))

    def kernel(self, key: DispatchKey) -> Kernel | None:
        """The active kernel registered under a key itself."""
        kernels = self.registrations.get(key)
        return kernels[0] if kernels else None

    # -- the rule -----------------------------------------------------------------------------------------------------

    def candidates(self, key: DispatchKey) -> Iterator[Candidate]:
        """Yield every possible source of a cell's kernel, in order of precedence, with its outcome.

        Aliases that do not include the key are yielded as not covering it if they have a kernel.
        """
        taken = False
        for rule in self.rules[key]:
            kernel = self._kernel_at(rule)
            if rule.covers:
                outcome = NOT_CONSIDERED if taken else self._outcome(key, rule, kernel)
                taken = taken or outcome == TAKEN
                yield Candidate(rule.source, self._reason(key, rule), outcome, kernel)
            elif kernel is not None and not taken:
                yield Candidate(rule.source, rule.reason, f"{NOT_COVERED}{key}", kernel)

    def _kernel_at(self, rule: PrecedenceRule) -> Kernel | None:
        return self._fallbacks.get(rule.source) if rule.reason == FALLBACK else self.kernel(rule.source)

    def _outcome(self, key: DispatchKey, rule: PrecedenceRule, kernel: Kernel | None) -> str:
        if kernel is None:
            return NOTHING
        return (rule.reason == MATH and self._why_not_composite(key)) or TAKEN

    def _why_not_composite(self, key: DispatchKey) -> str:
        """The reason why CompositeImplicitAutograd's kernel must not fill a cell of the autograd keys; empty if it may.

        Its derivatives come from the operators that it calls, so it would run instead of a backend's own kernel.
        """
        backend_key = self._backend_key_with_kernel(key)
        if key == K.AutogradOther and backend_key is not None:
            return ""  # it is taken, and raises when it is called: see ``_reason``
        if K.CompositeExplicitAutograd in self.registrations:
            return "a CompositeExplicitAutograd kernel exists, so the composite is not used"
        return "" if backend_key is None else f"a kernel for {backend_key} exists, so the composite is not used"

    def _backend_key_with_kernel(self, key: DispatchKey) -> DispatchKey | None:
        """A backend key with a kernel of its own, among the backends of an autograd key."""
        backend_keys = BACKEND_KEYS_FROM_AUTOGRAD[key]
        return min((k for k in self.registrations if k in backend_keys), default=None) if backend_keys else None

    def _reason(self, key: DispatchKey, rule: PrecedenceRule) -> CellReason:
        if rule.reason == MATH and key == K.AutogradOther and self._backend_key_with_kernel(key) is not None:
            return AMBIGUOUS
        return rule.reason

    def compute(self, key: DispatchKey) -> Cell:
        """Return the cell that a runtime key should have now, filled by the first candidate that is taken."""
        for rule in self.covering_rules[key]:
            kernel = self._kernel_at(rule)
            if kernel is not None and self._outcome(key, rule, kernel) == TAKEN:
                reason = self._reason(key, rule)
                return Cell(self, key, self._ambiguous if reason == AMBIGUOUS else kernel, reason, rule.source)
        return Cell(self, key, None, MISSING, None)

    @cached_property
    def _ambiguous(self) -> Kernel:
        """A kernel that only raises. It is for a composite operator that a backend of AutogradOther implements too."""
        return Kernel(
            AMBIGUOUS_NAME, lambda ks, *args: dump.report_ambiguous(self), AMBIGUOUS_NAME, pointer=AMBIGUOUS_NAME
        )

    def missing(self, ks: int, *args: Any) -> Any:
        """Raise NotImplementedError with PyTorch's text, which has the whole table. It runs in place of a missing
        kernel.
        """
        dump.report_missing(self, ks)

    # -- the table ----------------------------------------------------------------------------------------------------

    @property
    def table(self) -> list[Cell]:
        """The stored table of 137 cells, which calls use."""
        if self._table is None:
            table, masks = [self.compute(key) for key in RUNTIME_KEYS], FallthroughMasks()
            for cell in table:
                masks.update(cell.key, cell.falls_through)
            self._masks = masks
            self._table = table  # last: a thread that writes a trace may ask meanwhile, and would read unfinished masks
        return self._table

    def cell_of(self, key: DispatchKey) -> int:
        """Return the index of the cell of a runtime key."""
        return CELL[key]

    @property
    def is_computed(self) -> bool:
        """True if the table has been computed. Otherwise a change has nothing to recompute."""
        return self._table is not None

    def fallback_changed(self, key: DispatchKey) -> None:
        """Recompute the cell of a runtime key after the process's fallback for it has changed."""
        self._recompute(affected_by(key))

    def _recompute(self, keys: Iterable[DispatchKey]) -> None:
        if self._table is None:
            return
        changed = [key for key in keys if self._recompute_cell(self._table, key)]
        for derived in self._lookups():
            derived.clear()
        if changed and recorder.active is not None:
            recorder.active.cells_recomputed(self, changed)

    # -- look-up tables of the dispatcher -----------------------------------------------------------------------------

    def _lookups(self) -> Iterator[dict[int, Any]]:
        yield from (self.lookup, self.kernels, self.redispatch_lookup, self.redispatch_kernels)
        yield from (
            self.redispatch_within_AutoDispatchBelowAutograd,
            self.redispatch_within_AutoDispatchBelowADInplaceOrView,
        )

    def _cell_of_call(self, base: int) -> tuple[Cell, int]:
        effective = base & self.masks.of(base)
        return self.redispatch_lookup[effective], effective

    def _cell_of_redispatch(self, ks: int) -> Cell:
        return self.table[table_index(ks)]

    def _kernel_of_call(self, base: int) -> tuple[Typed, int]:
        cell, effective = self.lookup[base]
        rec = recorder.active
        if rec is None:
            return cell.function, effective
        from dispatchviz.core.kernel.recorded_kernels import recorded_call  # a large module, loaded only by recordings

        return recorded_call(rec, cell), effective

    def _kernel_of_redispatch(self, ks: int) -> Typed:
        cell = self.redispatch_lookup[ks]
        rec = recorder.active
        if rec is None:
            return cell.function
        from dispatchviz.core.kernel.recorded_kernels import recorded_redispatch

        return recorded_redispatch(rec, cell)

    def _within(self, guard: type[ExcludeFixed]) -> FilledByMode[Guarded]:
        return FilledByMode(functools.partial(self._guarded, guard))

    def _guarded(self, guard: type[ExcludeFixed], ks: int) -> Guarded:
        cell = self.redispatch_lookup[ks]
        rec = recorder.active
        if rec is None:
            return redispatch_within(cell, ks, guard)
        from dispatchviz.core.kernel.recorded_kernels import recorded_redispatch_within

        return recorded_redispatch_within(rec, cell, ks, guard)

    def _recompute_cell(self, table: list[Cell], key: DispatchKey) -> bool:
        """Recompute a cell. Return whether it has another kernel now."""
        old, new = table[CELL[key]], self.compute(key)
        table[CELL[key]] = new
        self._masks.update(key, new.falls_through)
        return new.kernel is not old.kernel

    # -- masks --------------------------------------------------------------------------------------------------------

    @property
    def masks(self) -> FallthroughMasks:
        """The masks that remove the table's fallthrough keys from every call's key set."""
        self.table  # noqa: B018  computing it sets the masks
        return self._masks

    @property
    def mask(self) -> int:
        """The single mask."""
        return self.masks.single

    def mask_for(self, base: int) -> int:
        """The mask of a call with a key set."""
        return self.masks.of(base)


AMBIGUOUS_NAME = "ambiguous_autogradother"


def dotted(name: str) -> str:
    """The name with a dot, ``aten::sum.``: PyTorch's errors print the dot even before an empty overload."""
    return name if "." in name else f"{name}."


class Filled(dict[int, T]):
    """A lookup table by key set, filled on first use."""

    def __init__(self, fill: Callable[[int], T]) -> None:
        super().__init__()
        self._fill = fill

    def __missing__(self, ks: int) -> T:
        found = self[ks] = self._fill(ks)
        return found


class FilledByMode(Filled[T]):
    """A lookup table of functions: recorded calls while a recorder listens, and plain ones otherwise."""

    def __missing__(self, ks: int) -> T:
        found = self[ks] = self._fill(ks)
        _filled.append(self)
        return found


_filled: list[dict[int, Any]] = []
"""The lookup tables of functions that are not empty."""


def _forget() -> None:
    while _filled:
        _filled.pop().clear()


process_modes.when_changed(Mode.RECORDING, _forget)
