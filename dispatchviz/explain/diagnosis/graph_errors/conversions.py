"""Conversions of a tensor that requires grad to a value without a history: an array, a copy, a pickle."""

from __future__ import annotations

import ast

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.subjects import Subject, argument, grouped, held_within, owners, subject
from dispatchviz.explain.diagnosis.graph_errors.values import NAME, leaves_behind, named_on_line, needs_grad, with_line
from dispatchviz.explain.diagnosis.words import begun, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

NUMPY = "Can't call numpy() on Tensor that requires grad"
DEEPCOPY = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
PICKLED = "Cowardly refusing to serialize non-leaf tensor which requires_grad"

ARRAYS = ("asarray", "array", "asanyarray", "ascontiguousarray")
SENT = ("dumps", "dump", "put", "send")

FEW = 4
"""The number of leaves that are named."""


def numpy(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of ``numpy()`` on a tensor that requires grad."""
    found = _converted(failure) or _held_by_argument(failure) or _needing(failure)
    if found is None or found.tensor is None:
        return None
    trace, at = failure.trace, failure.raised
    text = (
        f"{_why(failure, found)} A NumPy array has no history, so gradients would silently end there: "
        f"{on_line(trace, at)} has to detach {found.text} first."
    )
    cause = Statement("numpy of a tensor that requires grad", text, (RequiresGrad(found.tensor, requires_grad=True),))
    line = on_line(trace, at, text=False)
    fix = f"Detach it on {line}: {grouped(found.text)}.detach().numpy()."
    return _diagnosis(failure, cause, (fix,), found.tensor)


def deepcopy(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a deep copy of a tensor that is not a leaf."""
    expression = argument(failure, ("deepcopy",))
    if expression is None:
        return None
    trace, at = failure.trace, failure.raised
    found = subject(failure, expression)
    if found.tensor is not None:
        if not _has_history(trace, found.tensor, at):
            return None
        text = f"{_why(failure, found)} {begun(on_line(trace, at))} can copy only leaves."
        fix = f"Copy it detached: {grouped(found.text)}.detach().clone()."
        return _diagnosis(failure, Statement("deepcopy of a non-leaf", text), (fix,), found.tensor)
    inside = [(name, held) for name, held in held_within(trace, found.text, at) if _has_history(trace, held, at)]
    if not inside:
        return _held(failure, found)
    name, tensor = inside[0]
    text = f"{found.text} holds {name}. {_why(failure, Subject(name, tensor))} "
    text += f"{begun(on_line(trace, at))} can copy only leaves."
    fix = f"Cut it before {on_line(trace, at, text=False)}: {name} = {name}.detach()."
    return _diagnosis(failure, Statement("deepcopy of what holds a non-leaf", text), (fix,), tensor)


def _held(failure: Failure, found: Subject) -> Diagnosis:
    """Return the diagnosis for a tensor without a name in the recording."""
    trace, at = failure.trace, failure.raised
    text = (
        f"{found.text} holds a tensor that has a grad_fn: a result that was kept, and no leaf. "
        f"{begun(on_line(trace, at))} can copy only leaves."
    )
    fixes = (
        f"Store that result without its history in {found.text}: call .detach() where it is stored.",
        f"If {found.text} is a module and you want its parameters: copy.deepcopy({found.text}.state_dict()).",
    )
    cause = Statement("deepcopy of what holds a non-leaf without a name", text)
    unseen = "The recording has no variable for that tensor."
    return Diagnosis("error", at, (cause,), failure.message, fixes, (at,), unseen)


def pickled(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a tensor that is not a leaf and is sent to another process."""
    found = _passed(failure, SENT)
    if found is None or found.tensor is None:
        return None
    trace, at = failure.trace, failure.raised
    text = (
        f"{_why(failure, found)} {begun(on_line(trace, at))} pickles {found.text} for another process, and its graph "
        "cannot be sent there."
    )
    fix = f"Send it detached: {grouped(found.text)}.detach()."
    return _diagnosis(failure, Statement("a non-leaf sent to a process", text), (fix,), found.tensor)


# -- the tensor, and why it requires grad ------------------------------------------------------------------------------


def _passed(failure: Failure, functions: tuple[str, ...]) -> Subject | None:
    """Return the tensor that a line passes to one of some functions."""
    expression = argument(failure, functions)
    found = None if expression is None else subject(failure, expression)
    return found if found is not None and found.tensor is not None else None


def _converted(failure: Failure) -> Subject | None:
    """Return the tensor that a line converts to an array. If there are several, the first one that requires grad."""
    passed = _passed(failure, ARRAYS)
    found: list[Subject] = [*owners(failure, ("numpy", "__array__")), *(() if passed is None else (passed,))]
    known = [(each, each.tensor) for each in found if each.tensor is not None]
    for each, tensor in known:
        if needs_grad(failure.trace, tensor, failure.raised):
            return each
    leaves: list[Subject] = [each for each, _ in known if NAME.fullmatch(each.text)]
    return leaves[0] if len(leaves) == 1 else None


def _held_by_argument(failure: Failure) -> Subject | None:
    """Return the first tensor with a history in a list that a line converts to an array."""
    expression = argument(failure, ARRAYS)
    held = [] if expression is None else held_within(failure.trace, ast.unparse(expression), failure.raised)
    return next((Subject(*each) for each in held if _has_history(failure.trace, each[1], failure.raised)), None)


def _needing(failure: Failure) -> Subject | None:
    """Return the only variable of the line that is known to require grad."""
    known = [each for each in named_on_line(failure) if needs_grad(failure.trace, each[1], failure.raised)]
    return Subject(*known[0]) if len(known) == 1 else None


def _has_history(trace: Trace, tensor: int, at: int) -> bool:
    return index(trace).history(tensor, at) is not None


def _why(failure: Failure, found: Subject) -> str:
    """Return the reason: ``y requires grad: MulBackward0 on line 3 computed it from the leaf x (line 2).``"""
    trace, at, tensor = failure.trace, failure.raised, found.tensor
    node = index(trace).history(tensor, at) if tensor is not None else None
    if tensor is None or node is None:
        return f"{'It' if tensor is None else with_line(trace, tensor, at)} is a leaf that requires grad."
    made = index(trace).nodes.get(node)
    where = f", made on {on_line(trace, made.seq)}" if made is not None and on_line(trace, made.seq) else ""
    leaves = leaves_behind(trace, tensor, at)
    names = [with_line(trace, leaf, at) for leaf in leaves[:FEW]]
    more = [f"{len(leaves) - FEW} more"] if len(leaves) > FEW else []
    which = "the leaf" if len(leaves) == 1 else "the leaves"
    if len(leaves) == 1 and names[0].startswith("the "):
        which = "a leaf,"
    from_leaves = f", because it was computed from {which} {listed([*names, *more])}" if leaves else ""
    return f"{found.text} requires grad{from_leaves}: its grad_fn is {node_title(trace, node, at)}{where}."


def _diagnosis(failure: Failure, cause: Statement, fixes: tuple[str, ...], tensor: int) -> Diagnosis:
    node = index(failure.trace).history(tensor, failure.raised)
    made = index(failure.trace).nodes.get(node) if node is not None else index(failure.trace).tensors.get(tensor)
    steps = sorted({*(() if made is None else (made.seq,)), failure.raised})
    return Diagnosis("error", failure.raised, (cause,), failure.message, fixes, tuple(steps))


RULES = (
    (NUMPY, numpy),
    (DEEPCOPY, deepcopy),
    (PICKLED, pickled),
)
