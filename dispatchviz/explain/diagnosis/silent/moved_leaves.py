"""The ``.grad`` of a tensor that is not a leaf: of a leaf's copy on another device, or of any other result."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.calls import outermost_calls
from dispatchviz.explain.diagnosis.silent.leaves import gets_gradient, leaves_behind, named
from dispatchviz.explain.diagnosis.words import base_name, last_name, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import latest_first
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

WARNING = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"

READ = re.compile(r"([A-Za-z_][\w.\[\]]*)\.grad\b(?!_)")
"""The pattern of a tensor whose gradient a line reads."""

MOVES = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "type", "_to_copy")
"""The operators that return a copy on another device or of another dtype."""


def not_a_leaf(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each line that reads the ``.grad`` of a result, for which PyTorch issues a warning."""
    for step in trace.steps_of(ev.Warned):
        warned = trace[step]
        if isinstance(warned, ev.Warned) and warned.message.startswith(WARNING):
            yield _diagnosis(trace, warned)


def _diagnosis(trace: Trace, warned: ev.Warned) -> Diagnosis:
    at, tensor = warned.seq, _read(trace, warned.seq)
    if tensor is None:
        text = (
            f"{capital(on_line(trace, at))} reads the .grad of a tensor that is not a leaf. backward() keeps none "
            "there."
        )
        cause = Statement("gradient of an unknown result", text)
        return Diagnosis(
            "warning", at, (cause,), warned.message, ("Call its retain_grad() before the backward pass.",), (at,)
        )
    node = index(trace).history(tensor, at)
    leaves = [] if node is None else leaves_behind(trace, [node])
    moved = _moved(trace, tensor, leaves)
    cause = _cause_of_moved(trace, tensor, leaves[0], at) if moved else _cause(trace, tensor, leaves, at)
    made = index(trace).tensors.get(tensor)
    proof = (at,) if made is None else (made.seq, at)
    return Diagnosis("warning", at, (cause,), warned.message, _fixes(trace, tensor, moved, at), proof)


def _read(trace: Trace, at: int) -> int | None:
    """Return the result whose ``.grad`` the line of a step reads, or None if no variable of the line is one."""
    line = source_line(trace, at)
    names = [] if line is None else [each[1] for each in READ.finditer(source_text(trace, line))]
    held = [holder for name in names if (holder := index(trace).holder(name, at)) is not None]
    return next((each for each in held if index(trace).history(each, at) is not None), None)


def _moved(trace: Trace, tensor: int, leaves: list[int]) -> bool:
    """Return whether a tensor comes from one leaf that was made on the same line and that no variable holds."""
    if len(leaves) != 1 or index(trace).names.get(leaves[0]):
        return False
    both = [index(trace).tensors.get(each) for each in (tensor, leaves[0])]
    lines = [source_line(trace, made.seq) for made in both if made is not None]
    return len(lines) == 2 and lines[0] is not None and lines[0] == lines[1]


def _cause_of_moved(trace: Trace, tensor: int, leaf: int, at: int) -> Statement:
    name, call = last_name(trace, tensor, at), made_by(trace, tensor)
    where = on_line(trace, call.seq) if call is not None else ""
    by = f"the result of {base_name(call)} on {where}" if call is not None else "a result"
    wrote = index(trace).steps_about(leaf, ev.GradientAccumulated)
    went = (
        f"{capital(on_line(trace, wrote[0]))} wrote the gradient to that leaf"
        if wrote and wrote[0] < at
        else "backward() writes the gradient to that leaf"
    )
    text = (
        f"{name} is not a leaf: it is {by}. The leaf is the tensor before that call, and no variable holds it. "
        f"{went}, so {name}.grad is None."
    )
    return Statement("gradient of a moved leaf", text, (RequiresGrad(tensor, requires_grad=True),))


def _cause(trace: Trace, tensor: int, leaves: list[int], at: int) -> Statement:
    name, call = last_name(trace, tensor, at), made_by(trace, tensor)
    node = index(trace).history(tensor, at)
    by = f"the result of {base_name(call)} on {on_line(trace, call.seq)}" if call is not None else "a result"
    grad_fn = f" Its grad_fn is {node_title(trace, node, at)}." if node is not None else ""
    only = f": here for {named(trace, leaves, at)}" if leaves else ""
    text = (
        f"{name} is not a leaf: it is {by}.{grad_fn} backward() keeps .grad only for leaves{only}. {name}.grad is None."
    )
    return Statement("gradient of a result", text, (RequiresGrad(tensor, requires_grad=True),))


def _fixes(trace: Trace, tensor: int, moved: bool, at: int) -> tuple[str, ...]:
    name, call = last_name(trace, tensor, at), made_by(trace, tensor)
    backward = next(latest_first(trace, at, ev.BackwardStarted), None)
    before = "the backward pass" if backward is None else on_line(trace, backward.seq)
    keep = f"Call {name}.retain_grad() before {before}."
    if not moved or call is None:
        return (keep,)
    line = on_line(trace, call.seq, text=False)
    what = "Move the tensor" if base_name(call) in MOVES else f"Call {base_name(call)}"
    return f"{what} first and let the result require grad, on {line}: {name}.requires_grad_().", keep


# -- nn.Parameter of a computed tensor --------------------------------------------------------------------------------


def computed_parameters(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each ``nn.Parameter`` that cuts a result from leaves which then get no gradient."""
    if not any("Parameter(" in text for text in trace.header.sources.values()):
        return
    for call in outermost_calls(trace, lambda name: name == "detach"):
        line, at = source_line(trace, call.seq), call.seq
        if line is None or "Parameter(" not in source_text(trace, line):
            continue
        node = index(trace).history(call.tensors[0], at)
        returned = trace[trace.ends[at]]
        parameter = returned.tensors[0] if isinstance(returned, ev.KernelReturned) and returned.tensors else None
        lost = [] if node is None else [each for each in leaves_behind(trace, [node]) if _is_lost(trace, each, at)]
        if lost and parameter is not None and gets_gradient(trace, parameter):
            yield _cut_by_parameter(trace, at, call.tensors[0], parameter, lost)


def _is_lost(trace: Trace, leaf: int, at: int) -> bool:
    """Return whether a leaf has its own variable, outside modules, and never gets a gradient."""
    name = last_name(trace, leaf, at)
    return name.isidentifier() and bool(index(trace).names.get(leaf)) and not gets_gradient(trace, leaf)


def _cut_by_parameter(trace: Trace, at: int, computed: int, parameter: int, lost: list[int]) -> Diagnosis:
    names, own = named(trace, lost, at), last_name(trace, parameter, len(trace) - 1)
    gets = "gets" if len(lost) == 1 else "get"
    text = (
        f"{capital(on_line(trace, at))} makes a parameter of {last_name(trace, computed, at)}, which is computed from "
        f"{names}. nn.Parameter makes a new leaf without a history. So the gradient ends at {own}, and {names} {gets} "
        "none."
    )
    cause = Statement("parameter of a computed tensor", text)
    fix = (
        f"Use the computed tensor itself instead of nn.Parameter on {on_line(trace, at, text=False)}; in a module, "
        f"compute it in forward()."
    )
    steps = index(trace).steps_about(parameter, ev.GradientAccumulated)
    return Diagnosis("gradient that never arrives", at, (cause,), "", (fix,), (at, steps[0]))


RULES = (computed_parameters, not_a_leaf)
