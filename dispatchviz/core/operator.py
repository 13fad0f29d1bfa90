"""One operator: what was registered for it, and the table computed from that.

Mirrors ``aten/src/ATen/core/dispatch/OperatorEntry.cpp`` and the masks of ``DispatchKeyExtractor.h``. Registrations
(``registrations``) are given; the table, the masks and the two look-up tables of the dispatcher are derived.

Rule 1 (precedence): ``sources`` yields, for one runtime key, every place a kernel may come from, best first.
Rule 2 (recomputation): a change under key d recomputes the cells of ``affected(d)`` and no others. Where that misses a
cell, the cell stays as it was: PyTorch has the same stale cells.
Rule 3 (laziness): nothing is computed before the first call or look; changes made until then are not changes of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dispatchviz.core import keyset as s
from dispatchviz.core import recorder
from dispatchviz.core.kernel import Kernel
from dispatchviz.core.keys import (
    ALIASES,
    BACKEND_MASK,
    CELL,
    CUSTOMIZABLE,
    KEY_BITS,
    NUM_BACKENDS,
    RUNTIME_KEYS,
    DispatchKey,
    included_in_alias,
)
from dispatchviz.core.keyset import AUTOGRAD_KEY, BACKENDS_OF_AUTOGRAD
from dispatchviz.core.schema import FunctionSchema

Key = DispatchKey

class Candidate(NamedTuple):
    """A place where the kernel of a cell could come from."""

    source: DispatchKey
    reason: str
    """PyTorch's tag of such a choice."""
    outcome: str
    """``taken``, ``nothing registered``, ``not asked`` (a better one was taken) or why it was passed over."""
    kernel: Kernel | None


@dataclass(frozen=True, eq=False)
class Cell:
    """One entry of the table; ``function(ks, *args)`` runs it, also where no kernel is."""

    key: DispatchKey
    index: int
    kernel: Kernel | None
    reason: str
    source: DispatchKey | None
    function: Callable[..., Any]


class OperatorEntry:
    """An operator's schema, registrations and tables."""

    def __init__(self, name: str, fallbacks: Mapping[DispatchKey, Kernel]) -> None:
        self.name = name
        self._schema: FunctionSchema | None = None
        self.debug = ""
        self.registrations: dict[DispatchKey, list[Kernel]] = {}
        """Per key, newest first; the first is active."""
        self._fallbacks = fallbacks
        self._table: list[Cell] | None = None
        self._mask = s.FULL
        self._backend_masks = [s.FULL] * NUM_BACKENDS
        self._per_backend = False
        self.lookup: dict[int, tuple[Cell, int]] = _Lookup(self)
        """Set before the mask -> (cell, effective set)."""
        self.redispatch_lookup: dict[int, Cell] = _RedispatchLookup(self)
        """Set -> cell."""

    @property
    def schema(self) -> FunctionSchema:
        """RuntimeError if the operator was never defined (only kernels were registered)."""
        if self._schema is None:
            base, _, overload = self.name.partition(".")
            raise RuntimeError(
                f"Could not find schema for {base}.{overload} but we found an implementation; "
                "did you forget to def() the operator?"
            )
        return self._schema

    @property
    def has_schema(self) -> bool:
        """Whether it was defined."""
        return self._schema is not None

    # -- registrations ------------------------------------------------------------------------------------------------

    def define(self, schema: FunctionSchema | None, debug: str = "") -> None:
        """Sets or, with None, takes away the schema."""
        self._schema = schema
        self.debug = debug

    def register(self, key: DispatchKey, kernel: Kernel) -> None:
        """Puts a kernel in front of those under a key and recomputes what that can change."""
        self.registrations.setdefault(key, []).insert(0, kernel)
        self.changed(key)

    def deregister(self, key: DispatchKey, kernel: Kernel) -> None:
        """Takes a kernel away, wherever it stands."""
        kernels = self.registrations[key]
        kernels.remove(kernel)
        if not kernels:
            del self.registrations[key]
        self.changed(key)

    def kernel(self, key: DispatchKey) -> Kernel | None:
        """The active kernel registered under a key itself."""
        kernels = self.registrations.get(key)
        return kernels[0] if kernels else None

    def _any_registered(self, keys: int) -> bool:
        """Whether some runtime key of a set has a kernel of its own."""
        return any(
            not key in ALIASES and KEY_BITS[key] and keys & KEY_BITS[key] == KEY_BITS[key] for key in self.registrations
        )

    # -- the rule -----------------------------------------------------------------------------------------------------

    def sources(self, key: DispatchKey) -> Iterator[tuple[DispatchKey, str, str]]:
        """Where a kernel for a runtime key may come from, best first: (key, reason, why it is passed over or "").

        The numbered steps of ``computeDispatchTableEntryWithDebug``.
        """
        undefined = key is Key.Undefined
        if not undefined:
            yield key, "kernel", ""
        for alias in (Key.CompositeExplicitAutogradNonFunctional, Key.CompositeExplicitAutograd):
            if undefined or included_in_alias(key, alias):
                yield alias, "default backend kernel", ""
        if included_in_alias(key, Key.CompositeImplicitAutogradNestedTensor):
            yield Key.CompositeImplicitAutogradNestedTensor, "nested kernel", ""
        if undefined or included_in_alias(key, Key.CompositeImplicitAutograd):
            yield Key.CompositeImplicitAutograd, *self._implicit(key)
        if included_in_alias(key, Key.Autograd):
            yield Key.Autograd, "autograd kernel", ""
        if key is Key.FuncTorchBatched:
            yield Key.FuncTorchBatchedDecomposition, "batched kernel", ""

    def _implicit(self, key: DispatchKey) -> tuple[str, str]:
        """Reason of the composite kernel under a key, and why it must not be used there (or "")."""
        if key is Key.AutogradOther and self._any_registered(s.autogradother_backends):
            return "ambiguous autogradother", ""
        behind = BACKENDS_OF_AUTOGRAD[key]
        if self.kernel(Key.CompositeExplicitAutograd) is not None:
            return "math kernel", "a CompositeExplicitAutograd kernel exists, which has no derivative of its own"
        if self._any_registered(behind):
            return "math kernel", f"{_first(self.registrations, behind)} has a kernel of its own"
        return "math kernel", ""

    def candidates(self, key: DispatchKey) -> Iterator[Candidate]:
        """All sources of a cell with their outcome, the backend fallback last."""
        taken = False
        for source, reason, objection in self.sources(key):
            kernel = self.kernel(source)
            outcome = _outcome(kernel is not None, taken, objection)
            taken = taken or outcome == "taken"
            yield Candidate(source, reason, outcome, kernel)
        fallback = self._fallbacks.get(key)
        outcome = _outcome(fallback is not None, taken, "")
        yield Candidate(key, "backend fallback", outcome, fallback)

    def compute(self, key: DispatchKey) -> Cell:
        """What the cell of a runtime key should hold now."""
        index = CELL[key]
        for source, reason, outcome, kernel in self.candidates(key):
            if outcome == "taken" and kernel is not None:
                if reason == "ambiguous autogradother":
                    kernel = _ambiguous(self)
                return Cell(key, index, kernel, reason, source, _runner(self, kernel))
        return Cell(key, index, None, "missing", None, _missing(self, key))

    # -- the table ----------------------------------------------------------------------------------------------------

    @property
    def table(self) -> list[Cell]:
        """The stored table: what calls use."""
        if self._table is None:
            self._table = [self.compute(key) for key in RUNTIME_KEYS]
            for cell in self._table:
                self._update_mask(cell)
        return self._table

    @property
    def mask(self) -> int:
        """The single mask; with ``needs_backend_masks`` the copy of the call's backend counts instead."""
        self.table  # noqa: B018  computing it sets the mask
        return self._mask

    @property
    def needs_backend_masks(self) -> bool:
        """Whether the 16 copies of the mask differ."""
        self.table  # noqa: B018
        return self._per_backend

    def mask_for(self, base: int) -> int:
        """The mask that a call with this set (before masking) uses."""
        if not self.needs_backend_masks:
            return self.mask
        return self._backend_masks[((base & BACKEND_MASK) >> 1).bit_length()]

    def cell_of(self, key: DispatchKey) -> int:
        """Index of the cell of a runtime key."""
        return CELL[key]

    def changed(self, key: DispatchKey) -> None:
        """Recomputes what a change of the registrations under a key reaches (``updateDispatchTable_``)."""
        if self._table is None:
            return
        moved = []
        for affected in affected_by(key):
            cell = self.compute(affected)
            if cell.kernel is not self._table[cell.index].kernel:
                moved.append(affected)
            self._table[cell.index] = cell
            self._update_mask(cell)
        self.lookup.clear()
        self.redispatch_lookup.clear()
        if moved and recorder.active is not None:
            recorder.active.cells_recomputed(self, moved)

    def _update_mask(self, cell: Cell) -> None:
        """A fallthrough takes its key out of the mask, anything else puts it in (``setOperatorHasFallthroughForKey``)."""
        bit = KEY_BITS[cell.key.functionality]
        skip = cell.kernel is not None and cell.kernel.fallthrough
        self._mask = self._mask & ~bit if skip else self._mask | bit
        if cell.key.functionality in CUSTOMIZABLE:
            copies = [cell.key.backend - 1]
        else:
            copies = list(range(NUM_BACKENDS))
        for copy in copies:
            old = self._backend_masks[copy]
            self._backend_masks[copy] = old & ~bit if skip else old | bit
        if len(copies) == 1:
            self._per_backend = len(set(self._backend_masks)) > 1


def affected_by(key: DispatchKey) -> Iterator[DispatchKey]:
    """The runtime keys whose cells a change under a key recomputes."""
    if key is Key.Undefined:
        yield key
        return
    if key in ALIASES:
        yield from (k for k in RUNTIME_KEYS if k is not Key.Undefined and included_in_alias(k, key))
    elif key in CELL:
        yield key
    if key.name.startswith("Composite") and key is not Key.CompositeImplicitAutogradNestedTensor:
        yield Key.Undefined
    if key in CELL and KEY_BITS[key] and s.backend_dispatch_keyset & KEY_BITS[key] == KEY_BITS[key]:
        yield AUTOGRAD_KEY[key.backend]


def _outcome(registered: bool, taken: bool, objection: str) -> str:
    if taken:
        return "not asked"
    if not registered:
        return "nothing registered"
    return objection or "taken"


def _first(registrations: Mapping[DispatchKey, list[Kernel]], keys: int) -> str:
    found = (k for k in registrations if not k in ALIASES and KEY_BITS[k] and keys & KEY_BITS[k] == KEY_BITS[k])
    return min(found).name


def _runner(op: OperatorEntry, kernel: Kernel) -> Callable[..., Any]:
    """What a call runs: the function itself, boxed arguments for a boxed kernel, an error if only PyTorch has it."""
    function = kernel.function
    if function is None:
        return _only_in_pytorch(op, kernel)
    if not kernel.boxed:
        return function

    def boxed(ks: int, *args: Any) -> Any:
        stack = list(args)
        if recorder.active is not None:
            recorder.active.boxed(op, len(stack))
        function(op, ks, stack)
        if recorder.active is not None:
            recorder.active.unboxed(op, len(stack))
        return stack[0] if len(stack) == 1 else tuple(stack) if stack else None

    return boxed


def _only_in_pytorch(op: OperatorEntry, kernel: Kernel) -> Callable[..., Any]:
    def run(ks: int, *args: Any) -> Any:
        raise NotImplementedError(
            f"the cell of {op.name} for {s.highest(ks).name} holds PyTorch's kernel {kernel.name} "
            f"({kernel.debug or 'place unknown'}), which dispatchviz does not implement"
        )

    return run


def _ambiguous(op: OperatorEntry) -> Kernel:
    """The kernel that only raises: a composite and a backend of AutogradOther collide."""

    def run(ks: int, *args: Any) -> Any:
        raise RuntimeError(
            f"{op.name} has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther. "
            "This makes the backend kernel unreachable; the dispatcher will always prefer the CompositeImplicitAutograd "
            "lowering (see Note [Ambiguity in AutogradOther kernel]). If you want to override CompositeImplicitAutograd, "
            "please open an issue to request a dedicated Autograd dispatch key for the backend. If you only want to run "
            "inference instead of training, in C++, add `c10::InferenceMode mode;` before model.forward(); in Python, "
            "use `torch.inference_mode()` as a context manager."
        )

    return Kernel("ambiguous_autogradother", run, "ambiguous_autogradother")


def _missing(op: OperatorEntry, key: DispatchKey) -> Callable[..., Any]:
    def run(ks: int, *args: Any) -> Any:
        keys = ", ".join(cell.key.name for cell in op.table if cell.kernel is not None)
        if key is Key.Undefined:
            raise NotImplementedError(
                "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
                f"fallback function is registered for schema {op.name}.  This usually means that this function requires "
                "a non-empty list of Tensors, or that you (the operator writer) forgot to register a fallback function.  "
                f"Available functions are [{keys}].\n\n{dump_table(op)}"
            )
        raise NotImplementedError(
            f"Could not run '{op.name}' with arguments from the '{s.highest(ks).name}' backend. This could be because "
            "the operator doesn't exist for this backend, or was omitted during the selective/custom build process (if "
            "using custom build). If you are a Facebook employee using PyTorch on mobile, please visit "
            "https://fburl.com/ptmfixes for possible resolutions. "
            f"'{op.name}' is only available for these backends: [{keys}].\n\n{dump_table(op)}"
        )

    return run


def dump_table(op: OperatorEntry) -> str:
    """``_dispatch_dump_table``: every valid cell, recomputed, with its reason."""
    lines = []
    for key in RUNTIME_KEYS:
        cell = op.compute(key)
        if cell.kernel is not None:
            through = "fallthrough " if cell.kernel.fallthrough else ""
            lines.append(f"{key.name}: {through}{cell.kernel.debug} [{cell.reason}]\n")
    return "".join(lines)


class _Lookup(dict[int, tuple[Cell, int]]):
    """Derived: fills itself as sets are met."""

    def __init__(self, op: OperatorEntry) -> None:
        super().__init__()
        self._op = op

    def __missing__(self, base: int) -> tuple[Cell, int]:
        op = self._op
        effective = base & op.mask_for(base)
        found = self[base] = (op.redispatch_lookup[effective], effective)
        return found


class _RedispatchLookup(dict[int, Cell]):
    """Derived: fills itself as sets are met."""

    def __init__(self, op: OperatorEntry) -> None:
        super().__init__()
        self._op = op

    def __missing__(self, ks: int) -> Cell:
        cell = self[ks] = self._op.table[s.table_index(ks)]
        return cell
