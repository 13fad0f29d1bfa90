"""The effect of an entry on a call that lands there: the work of its kernel, the next kernel, or the error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.keys.key_set import AUTOGRAD_KEY, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK, KERNEL, MATH
from dispatchviz.core.table.pytorch_registrations import is_structured
from dispatchviz.explain.cells.autograd_cell import autograd
from dispatchviz.explain.cells.cell_path import CallPath, call_path
from dispatchviz.explain.keys.key_text import grouped_keys_text, is_autograd, is_backend, purpose, runtime_name, shown
from dispatchviz.explain.keys.named_key_sets import backend_of, tensor_set
from dispatchviz.explain.sentences.statement import LaterClaims, Statement
from dispatchviz.explain.sentences.table_claims import BackendKeys, CallVisits, CellHolds, FilledCells, MissingRaises
from dispatchviz.foundation.english import hexed, listed

if TYPE_CHECKING:
    from dispatchviz.explain.sentences.sentence_claims import Claim

K = DispatchKey


def when_called(op: OperatorEntry, cell: Cell) -> list[Statement]:
    """The effect of an entry on a call, one statement per paragraph."""
    return [said for said in (_kernel(op, cell), _tensors_with(cell.key), _path(op, cell)) if said is not None]


def holds(cell: Cell) -> tuple[CellHolds, ...]:
    """The claim about the content of an entry."""
    name = cell.kernel.name if cell.kernel else ""
    return (CellHolds(cell.operator.name, str(cell.key), name, cell.reason),)


def _kernel(op: OperatorEntry, cell: Cell) -> Statement:
    key, kernel = cell.key, cell.kernel
    if kernel is None:
        return _error(op, key)
    if kernel.fallthrough:
        return _fallthrough(cell)
    if cell.reason == AMBIGUOUS:
        text = "The call raises RuntimeError (ambiguous autogradother). In inference mode it does not reach this entry."
        return Statement("cell: ambiguous", text, holds(cell))
    if is_autograd(key.name):
        return autograd(op, cell)
    if cell.reason == MATH:
        return Statement(
            "cell: composite",
            f"{kernel.name} has no code for {key} in particular. It calls other operators through the dispatcher, and "
            "their kernels do the work.",
            holds(cell),
        )
    if key == K.Undefined:
        text = "It runs when the key set is empty, as in a call without tensors."
        return Statement("cell: no key", text, holds(cell))
    if cell.reason == FALLBACK:
        return _fallback(cell)
    if is_backend(key.name):
        return _backend(op, cell)
    text = f"The kernels for {key} compute no result. This key {purpose(key.functionality)}."
    return Statement("cell: layer", text, holds(cell))


def _error(op: OperatorEntry, key: DispatchKey) -> Statement:
    if key == K.Undefined:
        begins = "There were no tensor arguments to this function"
        return Statement(
            "cell: empty, no key",
            f"A call with an empty key set (no tensors, an empty list) raises NotImplementedError: {begins}, ... no "
            f"fallback function is registered for schema {op.name}.",
            (MissingRaises(op.name, str(key), begins),),
        )
    begins = f"Could not run '{op.name}' with arguments from the '{key}' backend."
    return Statement(
        "cell: empty",
        f"A call whose highest key is {key} raises NotImplementedError: {begins} The error then lists the keys that "
        "have a kernel.",
        (MissingRaises(op.name, str(key), begins),),
    )


def _fallthrough(cell: Cell) -> Statement:
    whose = "registered for this operator" if cell.reason == KERNEL else "the fallback of the key"
    return Statement(
        "cell: fallthrough",
        f"No call reaches this entry, because it is a fallthrough ({whose}). A fallthrough is not a function but a "
        f"zero in the operator's mask, which removes {cell.key} from the key set of every call before the highest key "
        "is picked.",
        holds(cell),
    )


LOOPS = ("batchedTensorForLoopFallback", "batchedNestedTensorForLoopFallback", "at::batchedTensorForLoopFallback")
"""The fallbacks of operators without a batch rule."""


def _fallback(cell: Cell) -> Statement:
    assert cell.kernel is not None
    if cell.key == K.Meta:
        return Statement(
            "cell: Meta fallback",
            "The Meta fallback always raises NotImplementedError: attempted to run this operator with Meta tensors, "
            "but there was no fake impl or Meta kernel registered.",
            holds(cell),
        )
    if cell.kernel.name in LOOPS:
        return Statement(
            "cell: batching fallback",
            "The operator has no batch rule. The fallback calls it once for each example of the batch and stacks the "
            "results.",
            holds(cell),
        )
    text = (
        f"The fallback serves every operator without a kernel of its own there. It {purpose(cell.key.functionality)}."
    )
    return Statement("cell: fallback", text, holds(cell))


def _backend(op: OperatorEntry, cell: Cell) -> Statement:
    assert cell.kernel is not None
    name, key = cell.kernel.name, cell.key
    if cell.source == K.CompositeExplicitAutogradNonFunctional and is_structured(op.name):
        return Statement(
            "cell: structured default",
            f"{name} runs the operator's meta function, allocates the output and calls the out= form through the "
            "dispatcher. A backend therefore needs a kernel only for the out= form.",
            holds(cell),
        )
    if cell.source in (K.CompositeExplicitAutograd, K.CompositeExplicitAutogradNonFunctional):
        return _for_many_backends(op, cell, name)
    return Statement(
        "cell: backend",
        f"{name} computes the result for {key} tensors, alone or with the help of operators that it calls. It does "
        "not redispatch.",
        holds(cell),
    )


def _for_many_backends(op: OperatorEntry, cell: Cell, name: str) -> Statement:
    """The sentence on a kernel of an alias that does not cover the autograd keys."""
    begin = (
        f"{name} is one function for many backends. It calls other operators, below autograd, which do the work on "
        f"{cell.key}."
    )
    recorder = op.kernel(K.Autograd)
    if recorder is None or not recorder.name.startswith("VariableType::"):
        text = f"{begin} The operator's autograd kernel, not these operators, decides what is recorded for backward."
        return Statement("cell: explicit composite without derivative", text, holds(cell))
    return Statement(
        "cell: explicit composite",
        f"{begin} Its derivative does not come from theirs. {recorder.name}, the operator's autograd kernel, is "
        f"registered for Autograd and runs before the call reaches {cell.key}.",
        holds(cell),
    )


def _tensors_with(key: DispatchKey) -> Statement | None:
    """The reason why a call reaches an autograd key at all: the founding question."""
    backend = backend_of(key)
    if not is_autograd(key.name) or backend is None:
        return None
    carries = (BackendKeys(str(backend), tensor_set(backend)),)
    if key == K.AutogradOther:
        text = "Tensors of backends without an autograd key of their own (HIP, VE, MKL-DNN, FPGA, ...) have this key."
        return Statement("cell: AutogradOther's tensors", text, carries)
    own = AUTOGRAD_KEY[backend.backend]
    if own != key and key != K.AutogradNestedTensor:
        text = f"No tensor has the key {key}, because {backend} tensors have {own} instead."
        return Statement("cell: no tensor has the key", text, carries)
    return Statement(
        "cell: every tensor has both keys",
        f"A call comes here because every ordinary {backend} tensor has both keys, {backend} and {key}, from the "
        f"moment it is made, whether it requires grad or not (the two alone are {hexed(raw(key, backend))}). {key} is "
        f"the higher key, so its kernel runs first. The kernel for {backend}, which computes the result, runs later.",
        carries,
    )


def _path(op: OperatorEntry, cell: Cell) -> Statement | None:
    backend = backend_of(cell.key)
    if backend is None:
        return None
    found = call_path(op, backend)
    skipped = listed([runtime_name(key, found.tensor) for key in found.skipped])
    skips = f". {skipped} {'fall' if len(found.skipped) > 1 else 'falls'} through" if skipped else ""
    text = (
        f"A call with an ordinary {backend} tensor has the key set {shown(found.effective)}{skips}. The call visits "
        f"{path_text(found)}."
    )
    visits = CallVisits(op.name, str(backend), tuple(str(visited.key) for visited in found.cells))
    claims: tuple[Claim, ...] = (BackendKeys(str(backend), found.tensor), visits)
    if cell in found.cells or not is_backend(cell.key.name):
        return Statement("path of a call", text, claims)
    return Statement("path of a call past the cell", text + _missed(cell, found), claims)


def _missed(cell: Cell, found: CallPath) -> str:
    """The reason why an ordinary call does not reach the entry."""
    last = found.cells[-1]
    ends = "decomposes it first" if last.reason == MATH else "ends it"
    return (
        f" It does not reach this entry, because {last.key} {ends}. Only calls below autograd reach it: in inference "
        "mode, or from a kernel that excludes the autograd keys."
    )


def path_text(found: CallPath) -> str:
    """The entries of a path: ``AutogradCPU (VariableType::sum), then CPU (...)``."""
    steps = [f"{cell.key} {_holds(cell)}" for cell in found.cells]
    return ", then ".join(steps)


def _holds(cell: Cell) -> str:
    if cell.kernel is None:
        return "(no kernel: error)"
    return f"({cell.kernel.name}, {cell.reason})"


def counted_cells(op: OperatorEntry) -> Statement:
    """The number of entries that hold a kernel, the empty ones, and the error that a call gets there."""
    empty = [cell.key for cell in op.table if cell.kernel is None]
    claims = LaterClaims(
        lambda: (FilledCells(op.name, 137 - len(empty)), *(claim for cell in op.table for claim in holds(cell)))
    )
    if not empty:
        return Statement("table: full", "All 137 entries of the operator's dispatch table hold a kernel.", claims)
    return Statement(
        "table: filled cells",
        f"{137 - len(empty)} of the 137 entries of the operator's dispatch table hold a kernel. The other "
        f"{len(empty)} are empty: {grouped_keys_text(empty)}. A call that lands there raises NotImplementedError "
        f"(Could not run '{op.name}' with arguments from the '...' backend). The error lists the keys that are not "
        "empty.",
        claims,
    )
