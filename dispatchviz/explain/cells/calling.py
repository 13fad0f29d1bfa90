"""What a call meets in a cell: what the kernel there does, what comes next, or the error."""

from __future__ import annotations

from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.keyset import AUTOGRAD_KEY, raw
from dispatchviz.core.operator import Cell, OperatorEntry
from dispatchviz.core.precedence import AMBIGUOUS, FALLBACK, KERNEL, MATH
from dispatchviz.explain.cells.groups import said_keys
from dispatchviz.explain.cells.path import Way, way
from dispatchviz.explain.english import hexed, listed
from dispatchviz.explain.key_words import is_autograd, is_backend, purpose, runtime_name, shown
from dispatchviz.explain.tensor_keys import backend_of

K = DispatchKey

NOT_IMPLEMENTED = ("autogradNotImplementedFallback", "autogradNotImplementedInplaceOrViewFallback")
"""Boxed kernels at Autograd of operators that have no derivative."""


def when_called(op: OperatorEntry, cell: Cell) -> list[str]:
    """Sentences, in paragraphs: what the cell means for a call."""
    return [text for text in (_kernel(op, cell), _carried(cell.key), _way(op, cell)) if text]


def _kernel(op: OperatorEntry, cell: Cell) -> str:
    key, kernel = cell.key, cell.kernel
    if kernel is None:
        return _error(op, key)
    if kernel.fallthrough:
        return _fallthrough(cell)
    if cell.reason == AMBIGUOUS:
        return "The call raises RuntimeError (ambiguous autogradother). In inference mode it does not come here."
    if is_autograd(key.name):
        return _autograd(op, cell)
    if cell.reason == MATH:
        return (
            f"{kernel.name} computes nothing for {key} in particular: it calls other operators, each through the "
            "dispatcher, and their kernels do the work."
        )
    if key == K.Undefined:
        return "It runs when no key is left at all, as for a call without tensors."
    if cell.reason == FALLBACK:
        return _fallback(key)
    if is_backend(key.name):
        return _backend(op, cell)
    return f"The kernels at {key} have a task of their own: this key {purpose(key.functionality)}."


def _error(op: OperatorEntry, key: DispatchKey) -> str:
    if key == K.Undefined:
        return (
            "A call that brings no key at all (no tensors, an empty list) raises NotImplementedError: There were no "
            f"tensor arguments to this function, ... no fallback function is registered for schema {op.name}."
        )
    return (
        f"A call whose highest key is {key} raises NotImplementedError: Could not run '{op.name}' with arguments from "
        f"the '{key}' backend. The list in that error names the keys that do have a kernel."
    )


def _fallthrough(cell: Cell) -> str:
    whose = "this operator's own" if cell.reason == KERNEL else "the key's fallback"
    return (
        f"A call never comes here. The cell holds a fallthrough ({whose}): it is no function but a hole in the "
        f"operator's mask, which takes {cell.key} out of the set of every call before the highest key is picked."
    )


def _autograd(op: OperatorEntry, cell: Cell) -> str:
    key = cell.key
    assert cell.kernel is not None
    name = cell.kernel.name
    if cell.reason == MATH:
        return (
            f"{name} runs already at {key}, above the backend: it takes the call apart into other operators. Each of "
            f"them passes {key} by itself and records its own derivative. {op.name} needs none and leaves no Node."
        )
    if cell.reason == FALLBACK:
        return (
            "It passes the call on to the keys below (ks & after_autograd_keyset), without a guard, and records no "
            "derivative. If an input requires grad and the kernel below gives a result without a history, that result "
            "gets a Node that only warns when backward reaches it: no gradient goes on from there. That is where the "
            "gradient of an operator without an autograd kernel is lost. (A kernel that calls differentiable operators "
            "keeps theirs.)"
        )
    if name in NOT_IMPLEMENTED:
        return (
            "The operator has no derivative. If an input requires grad, this kernel makes a Node that raises when "
            "backward reaches it (derivative for ... is not implemented); then it passes the call on below."
        )
    return (
        f"{name} computes nothing itself. If an input requires grad and grad mode is on, it makes a Node, the "
        "operator's way back, and ties the result to it. Then it passes the call on with every key below autograd (ks "
        "& after_autograd_keyset)."
    )


def _fallback(key: DispatchKey) -> str:
    if key == K.Meta:
        return (
            "The Meta fallback always raises NotImplementedError: attempted to run this operator with Meta tensors, "
            "but there was no fake impl or Meta kernel registered."
        )
    return f"The fallback does for any operator what this key is for: it {purpose(key.functionality)}."


def _backend(op: OperatorEntry, cell: Cell) -> str:
    assert cell.kernel is not None
    if cell.source == K.CompositeExplicitAutogradNonFunctional:
        return (
            f"{cell.kernel.name} runs the operator's meta function, allocates the output and calls the out= form "
            f"through the dispatcher: a backend that has a kernel only for the out= form needs no other."
        )
    if cell.source == K.CompositeExplicitAutograd:
        return (
            f"{cell.kernel.name} works on any backend, by calling other operators below autograd. Its derivative is "
            f"not made of theirs: it is registered to Autograd, and has run before the call comes to {cell.key}."
        )
    return f"{cell.kernel.name} computes the result on {cell.key} tensors. Nothing comes after it."


def _carried(key: DispatchKey) -> str:
    """Why a call comes to an autograd key at all: the founding question."""
    backend = backend_of(key)
    if not is_autograd(key.name) or backend is None:
        return ""
    if key == K.AutogradOther:
        return "Tensors of backends without an autograd key of their own (HIP, VE, MKL-DNN, FPGA, ...) carry this key."
    own = AUTOGRAD_KEY[backend.backend]
    if own != key and key != K.AutogradNestedTensor:
        return f"No tensor carries {key}: {backend} tensors carry {own} instead."
    return (
        f"Why a call comes here: every ordinary {backend} tensor carries both {backend} and {key} from the moment it "
        f"is made, whether it requires grad or not (the two alone are {hexed(raw(key, backend))}). {key} is the higher "
        f"one, so its cell is first, and {backend}, which computes, is for later."
    )


def _way(op: OperatorEntry, cell: Cell) -> str:
    backend = backend_of(cell.key)
    if backend is None:
        return ""
    found = way(op, backend)
    skipped = listed([runtime_name(key, found.tensor) for key in found.skipped])
    skips = f"; {skipped} {'fall' if len(found.skipped) > 1 else 'falls'} through" if skipped else ""
    way_there = (
        f"A call with an ordinary {backend} tensor has the key set {shown(found.effective)}{skips}. It visits "
        f"{said(found)}."
    )
    return way_there + _missed(op, cell, found)


def _missed(op: OperatorEntry, cell: Cell, found: Way) -> str:
    """Why such a call does not come to the cell, if it does not."""
    if cell in found.cells or not is_backend(cell.key.name):
        return ""
    last = found.cells[-1]
    ends = "takes it apart first" if last.reason == MATH else "ends it"
    return (
        f" So it does not come to this cell: {last.key} {ends}. Only calls below autograd do: in inference mode, or "
        "from a kernel that keeps the autograd keys out."
    )


def said(found: Way) -> str:
    """The cells of a way: ``AutogradCPU (VariableType::sum), then CPU (...)``."""
    steps = [f"{cell.key} {_holds(cell)}" for cell in found.cells]
    return ", then ".join(steps)


def _holds(cell: Cell) -> str:
    if cell.kernel is None:
        return "(no kernel: error)"
    return f"({cell.kernel.name}, {cell.reason})"


def counted_cells(op: OperatorEntry) -> str:
    """How many cells hold a kernel, which do not, and what happens there."""
    empty = [cell.key for cell in op.table if cell.kernel is None]
    if not empty:
        return "All 137 cells hold a kernel."
    return (
        f"{137 - len(empty)} of the operator's 137 cells hold a kernel. The other {len(empty)} are empty: "
        f"{said_keys(empty)}. A call that lands there raises NotImplementedError (Could not run '{op.name}' with "
        "arguments from the '...' backend), and the list in that error is the keys that are not empty."
    )
