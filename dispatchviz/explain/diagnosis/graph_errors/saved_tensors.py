"""Saved tensors that a Node cannot use: changed in place, detached, or an inference tensor."""

from __future__ import annotations

import re

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.changes import Change, change_of
from dispatchviz.explain.diagnosis.graph_errors.crossings import pass_before, shared_with
from dispatchviz.explain.diagnosis.graph_errors.iterations import on_line_in
from dispatchviz.explain.diagnosis.graph_errors.rewritten import out_of_place
from dispatchviz.explain.diagnosis.graph_errors.values import (
    called,
    is_leaf,
    reachable,
    steps_of_node,
    text_on_line,
    variable,
    views_back,
)
from dispatchviz.explain.diagnosis.words import base_name, begun, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import BackwardRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line, source_lines, user_stack
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MODIFIED = "has been modified by an inplace operation"
DETACHED = "Trying to use a saved tensor that has been detached in-place"

STEP = re.compile(r"([\w.\[\]]+)\.step\(")
"""The optimizer's step on a line."""

BEGIN = "one of the variables needed for gradient computation " + MODIFIED


def modified(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a saved tensor whose version has changed."""
    node = failure.node
    change = None if node is None else change_of(failure, node.node)
    if node is None or change is None:
        return None
    trace, at = failure.trace, failure.raised
    optimizer = _optimizer(trace, change)
    title = node_title(trace, node.node, at)
    text = (
        f"{_saved(failure, change)} {_changed(failure, change, optimizer)} {title} needs the values of version "
        f"{change.saved.version}, so {on_line_in(trace, _asked(failure))} fails."
    )
    claims = (BackwardRaises(node.node, change.saved.name, raises=True, message=BEGIN),)
    fixes = _after_step(failure, change) if optimizer else _fixes(failure, change)
    unseen = (
        ""
        if change.complete
        else "The recording and PyTorch's version counter disagree about the number of changes to this tensor."
    )
    proof = tuple(sorted({change.saved.seq, change.seq, node.seq}))
    cause = (
        Statement("saved tensor changed: by an optimizer", text, claims)
        if optimizer
        else Statement("saved tensor changed", text, claims)
    )
    return Diagnosis("error", at, (cause,), failure.message, fixes, proof, unseen)


def detached(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a saved tensor that lost its history in place."""
    node = failure.node
    change = None if node is None else change_of(failure, node.node)
    if node is None or change is None:
        return None
    trace, at = failure.trace, failure.raised
    name = called(trace, change.written, change.seq)
    text = (
        f"{_saved(failure, change)} {begun(on_line_in(trace, change.seq))} cut {name} from its history. "
        f"{node_title(trace, node.node, at)} needs {name} with its history, so {on_line_in(trace, _asked(failure))} "
        "fails."
    )
    fix = f"Use a new tensor without a history on {on_line(trace, change.seq, text=False)}: {name} = {name}.detach()."
    proof = tuple(sorted({change.saved.seq, change.seq, node.seq}))
    return Diagnosis("error", at, (Statement("saved tensor detached in place", text),), failure.message, (fix,), proof)


# -- texts -------------------------------------------------------------------------------------------------------------


def _name(trace: Trace, change: Change) -> str:
    """Return the name of the saved tensor. A result gets its variable only after it is saved."""
    tensor = change.saved.tensor
    if tensor is None or (change.saved.is_output and not variable(trace, tensor, change.seq)):
        return "that result"
    return called(trace, tensor, change.seq)


def _saved(failure: Failure, change: Change) -> str:
    """Return ``AddmmBackward0 (n18), made on line 10, saved D.2.weight.T (as mat2) at version 1.``"""
    trace, saved = failure.trace, change.saved
    made = index(trace).nodes.get(saved.node)
    where = f", made on {on_line_in(trace, made.seq)}," if made is not None and on_line(trace, made.seq) else ""
    title, name = node_title(trace, saved.node, failure.raised), _name(trace, change)
    what = f"{name} ({'its result' if saved.is_output else f'as {_roles(trace, saved)}'})"
    return f"{title}{where} saved {'its result' if name == 'that result' else what} at version {saved.version}."


def _roles(trace: Trace, saved: ev.VariableSaved) -> str:
    """Return all names under which a Node saved one tensor: ``other and self``."""
    events = (trace[step] for step in steps_of_node(trace, saved.node, ev.VariableSaved))
    same = (each for each in events if isinstance(each, ev.VariableSaved) and each.tensor == saved.tensor)
    return listed([each.name for each in same])


def _changed(failure: Failure, change: Change, optimizer: str) -> str:
    """Return ``Line 6 (y += 1) then changed y in place with add_: y went from version 0 to 1.``"""
    trace, name = failure.trace, _name(failure.trace, change)
    written = _writer(trace, change) or name
    by = f"The step of {optimizer} on {on_line_in(trace, change.seq)}" if optimizer else ""
    by = by or begun(on_line_in(trace, change.seq))
    operator = f" with {base_name(change.call)}" if change.call is not None and not optimizer else ""
    shared = "" if written == name else f", and {name} shares its memory"
    if _through_detach(trace, change):
        shared = ", through a tensor that detach() returned: that shares memory and version counter"
    before, event = change.saved.version, trace[change.seq]
    after = event.after if isinstance(event, ev.VersionBumped) else before + 1
    changed = f"{by} then changed {written} in place{operator}{shared}."
    return f"{changed} {begun(name)} went from version {before} to {after}."


def _writer(trace: Trace, change: Change) -> str:
    """Return the variable through which it was written: of the tensor itself, or of its base."""
    for view in views_back(trace, change.written, detached=True):
        if name := variable(trace, view, change.seq):
            return name
    return ""


def _through_detach(trace: Trace, change: Change) -> bool:
    """Return whether it was written through a tensor that ``detach()`` returned."""
    if variable(trace, change.written, change.seq):
        return False
    if "detach(" not in text_on_line(trace, change.seq):
        return False  # a function of PyTorch made it
    calls = (made_by(trace, view) for view in views_back(trace, change.written, detached=True)[:-1])
    return any(call is not None and base_name(call) == "detach" for call in calls)


def _asked(failure: Failure) -> int:
    """Return the step at which the backward pass was called."""
    started = None if failure.node is None else around(failure.trace, failure.node.seq, ev.BackwardStarted)
    return failure.raised if started is None else started.seq


# -- fixes -------------------------------------------------------------------------------------------------------------


def _optimizer(trace: Trace, change: Change) -> str:
    """Return the optimizer whose step changed it, as the line spells it: ``oD``; empty if none did."""
    found = STEP.search(text_on_line(trace, change.seq))
    base = views_back(trace, change.written)[-1]
    is_leaf = index(trace).history(base, change.seq) is None
    return found[1] if found is not None and is_leaf else ""


def _fixes(failure: Failure, change: Change) -> tuple[str, ...]:
    trace, line = failure.trace, on_line(failure.trace, change.seq, text=False)
    text = text_on_line(trace, change.seq)
    if _through_detach(trace, change):
        name = _name(trace, change)
        return (f"Write to a copy on {line}: {name}.detach().clone().",)
    if any(is_leaf(trace, each) for each in views_back(trace, change.written, detached=True)):
        return _leaf_fixes(failure, change)
    if new := out_of_place(text, _writer(trace, change)):
        return (f"Compute a new tensor on {line}: {new}.", _clone(trace, change))
    if flag := _inplace_flag(failure, change):
        return (f"Remove inplace=True on {flag}.",)
    return (_clone(trace, change),)


def _leaf_fixes(failure: Failure, change: Change) -> tuple[str, ...]:
    """Return fixes for a leaf. A leaf is changed permanently, so its saved value must be used before, or be a copy."""
    trace, asked = failure.trace, _asked(failure)
    made, name = index(trace).nodes.get(change.saved.node), _name(trace, change)
    line = on_line(trace, made.seq) if made is not None else "its line"
    copy = f"use {name}.clone() on {line}, so that a copy is saved."
    if _computed_since(trace, asked, change.seq):
        return (f"U{copy[1:]}",)
    return (f"Run {on_line(trace, asked)} before {on_line(trace, change.seq)}.", f"Or {copy}")


def _computed_since(trace: Trace, asked: int, change: int) -> bool:
    """Return whether the graph of a pass has Nodes that were made after a change and before the line of the pass."""
    started, known, line = trace[asked], index(trace).nodes, source_line(trace, asked)
    roots = [node for node, _ in started.roots] if isinstance(started, ev.BackwardStarted) else []
    made = (known.get(node) for node in reachable(trace, roots))
    return any(each is not None and change < each.seq < (line.seq if line is not None else asked) for each in made)


def _clone(trace: Trace, change: Change) -> str:
    line, name = on_line(trace, change.seq, text=False), _writer(trace, change)
    if not name.isidentifier():
        return f"Write to a copy on {line}: clone() of the tensor."
    return f"Write to a copy: {name} = {name}.clone() before {line}."


def _inplace_flag(failure: Failure, change: Change) -> str:
    """Return the only line of the program with ``inplace=True``, for a module that writes in place; otherwise empty."""
    trace, program = failure.trace, failure.trace.header.program
    lines = [
        (number, text.strip())
        for number, text in enumerate(source_lines(trace, program), 1)
        if re.search(r"inplace\s*=\s*True", text)
    ]
    if change.call is None or len(lines) != 1:
        return ""
    return f"line {lines[0][0]} ({lines[0][1]})" if len(lines[0][1]) <= 60 else f"line {lines[0][0]}"


def _after_step(failure: Failure, change: Change) -> tuple[str, ...]:
    """Return fixes: compute the second forward pass after the step, and detach the tensors that both losses share."""
    trace, line = failure.trace, on_line(failure.trace, change.seq, text=False)
    forward, earlier = _line_beside(trace, change.saved.seq, change.seq), pass_before(failure, change.seq)
    again = " again" if earlier is not None and change.saved.node in earlier.ran else ""
    fixes = [f"Run {forward}{again} after {line}, so that it uses the new values."]
    leaf = views_back(trace, change.written)[-1]
    shared = shared_with(earlier, leaf) if earlier is not None else None
    if shared is not None:
        first_line = on_line(trace, shared.first.seq, text=False)
        kept = f": {first_line} then needs no retain_graph=True" if shared.first.keep_graph and shared.alone else ""
        fixes.append(f"Also use {shared.name}.detach() on {_line_beside(trace, shared.user, change.seq)}{kept}.")
    return (*fixes, f"Or call every backward pass before {line}.")


def _line_beside(trace: Trace, seq: int, beside: int) -> str:
    """Return the line from which a step was reached, in the function of another step's line."""
    stack, other = user_stack(trace, seq), user_stack(trace, beside)
    if not stack or not other:
        return "it"
    line = stack[min(len(other), len(stack)) - 1]
    return on_line(trace, line.seq)


RULES = (
    (MODIFIED, modified),
    (DETACHED, detached),
)
