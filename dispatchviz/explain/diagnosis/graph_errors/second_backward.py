"""``Trying to backward through the graph a second time``: the Node, the pass that released it, the variable that
carried it over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.crossings import (
    Crossing,
    Second,
    carriers,
    crossing_to,
    in_one_loop,
    is_carried,
    reads,
    releasing,
    result_of,
    second_pass,
    spelled_name,
)
from dispatchviz.explain.diagnosis.graph_errors.iterations import in_iteration, iterations, on_line_in
from dispatchviz.explain.diagnosis.graph_errors.subjects import Subject, statement, subject
from dispatchviz.explain.diagnosis.graph_errors.values import called, node_made, steps_of_node
from dispatchviz.explain.diagnosis.words import begun, on_line
from dispatchviz.explain.sentences.sentence_claims import NodeRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line, user_stack
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MESSAGE = "Trying to backward through the graph a second time"


def second_backward(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a Node that runs after its saved tensors were released."""
    if failure.node is None:
        return _read(failure)
    second = second_pass(failure)
    if second is None:
        return None
    crossing = crossing_to(second)
    if crossing is None:
        return _twice(second)
    made = index(failure.trace).nodes.get(crossing.user)
    if made is None:
        return None  # nothing is known about a Node from before the recording
    if made.seq < second.first.seq:
        return _shared(second, crossing)
    return _carried(second, crossing) if is_carried(second, crossing) else _once(second, crossing)


def _read(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a line that reads saved tensors of a Node."""
    trace, at = failure.trace, failure.raised
    for name, tensor in _with_grad_fn(failure):
        node = None if tensor is None else index(trace).history(tensor, at)
        first = None if node is None else releasing(trace, node, at)
        if node is None or first is None:
            continue
        text = (
            f"{begun(on_line(trace, at))} reads what {node_made(trace, node, at)}, had saved. The backward pass "
            f"of {on_line_in(trace, first.seq)} has released it."
        )
        fix = f"Read the saved tensors of {name}.grad_fn before {on_line(trace, first.seq)}."
        cause = Statement("second backward: saved tensors were read", text)
        return Diagnosis("error", at, (cause,), failure.message, (fix,), (first.seq, at))
    return None


def _with_grad_fn(failure: Failure) -> Iterator[Subject]:
    """Yield the tensors whose ``grad_fn`` the line reads."""
    found = statement(failure)
    for each in ast.walk(found) if found is not None else ():
        if isinstance(each, ast.Attribute) and each.attr == "grad_fn":
            yield subject(failure, each.value)


# -- texts -------------------------------------------------------------------------------------------------------------


def _released(second: Second) -> str:
    """Return a sentence with the Node, the line that made it, and the pass that released it."""
    trace, node = second.failure.trace, second.node.node
    made = index(trace).nodes.get(node)
    where = f", made on {on_line_in(trace, made.seq)}," if made is not None and on_line(trace, made.seq) else ""
    return (
        f"{node_title(trace, node, second.failure.raised)}{where} ran in the backward pass of "
        f"{on_line_in(trace, second.first.seq)}. That pass released the tensors that the Node had saved."
    )


def _diagnosis(second: Second, cause: Statement, fixes: tuple[str, ...], proof: tuple[int, ...] = ()) -> Diagnosis:
    """Return the diagnosis: the Node and the pass that released it, then the rest of the cause."""
    failure, node = second.failure, second.node
    whole = cause._replace(text=f"{_released(second)} {cause.text}", claims=(NodeRaises(node.node, MESSAGE),))
    made = index(failure.trace).nodes.get(node.node)
    steps = sorted({*proof, second.first.seq, node.seq, *(() if made is None else (made.seq,))})
    return Diagnosis("error", failure.raised, (whole,), failure.message, fixes, tuple(steps))


def _twice(second: Second) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    root, line = _root_name(second), _line_apart(second)
    again = f"{begun(line)}{in_iteration(trace, at)} runs the same graph again"
    text = f"{again}: it starts at the same result, {root}." if root else f"{again}."
    same = line == on_line(trace, second.first.seq)
    first = on_line(trace, second.first.seq)
    fixes = (
        f"Compute {root or 'the result'} again before each pass of {first}." if same else f"Remove {line}.",
        f"If you want both passes, the first one must keep the graph: retain_graph=True on {first}.",
    )
    return _diagnosis(second, Statement("second backward: the same result", text), fixes)


def _line_apart(second: Second) -> str:
    """Return the line of the second pass. If both are on one line of a function, the line that called the function."""
    trace, at = second.failure.trace, second.failure.raised
    for mine, other in zip(user_stack(trace, at), user_stack(trace, second.first.seq), strict=False):
        if (mine.file, mine.line) != (other.file, other.line):
            return on_line(trace, mine.seq)
    return on_line(trace, at)


def _root_name(second: Second) -> str:
    trace, (node, output_nr) = second.failure.trace, second.this.roots[0]
    for step in steps_of_node(trace, node, ev.HistorySet, ev.HistoryRebased):
        event = trace[step]
        if isinstance(event, ev.HistorySet | ev.HistoryRebased) and event.output_nr == output_nr:
            return called(trace, event.tensor, second.failure.raised)
    return ""


def _shared(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    tensor = result_of(second, crossing)
    name = "its result" if tensor is None else called(trace, tensor, index(trace).nodes[crossing.user].seq)
    root = _root_name(second)
    text = (
        f"{begun(on_line_in(trace, at))} reaches it again, because {root or 'this result'} is computed from {name} too."
    )
    lines = f"{on_line(trace, second.first.seq, text=False)} and {on_line(trace, at, text=False)}"
    fixes = (
        f"Add the results and call backward once, instead of {lines}.",
        f"Or keep the graph in the first pass: retain_graph=True on {on_line(trace, second.first.seq)}.",
    )
    return _diagnosis(second, Statement("second backward: a shared part", text), fixes)


def _carried(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    user, name = index(trace).nodes[crossing.user].seq, spelled_name(second, crossing)
    loop = in_one_loop(second, crossing)
    carried = (
        f"{name} carries its result from iteration {loop[0].number} into iteration {loop[1].number}"
        if loop is not None
        else f"{name} keeps its result after that pass"
    )
    if loop is not None and not reads(trace, name, user):
        carried = f"Its result, {name} of iteration {loop[0].number}, is kept until iteration {loop[1].number}"
    again = f"So {on_line_in(trace, at)} reaches the Node a second time."
    text = f"{carried}: {on_line(trace, user)} computes from it. {again}"
    others = (each for each in carriers(second) if each != name and reads(trace, each, user))
    names = list(dict.fromkeys([name, *others]))
    line = on_line(trace, user, text=False)
    cut = _cut(names)
    fixes = (
        f"Cut the history{_after_pass(second, user)} before {line} uses {listed(names)} again: {cut}."
        if reads(trace, name, user)
        else f"Cut the history where {line} uses that result: use its detach().",
        "Do not use retain_graph=True here: the graph, and the time of each pass, would grow with each iteration.",
    )
    return _diagnosis(
        second, Statement("second backward: carried over", text), fixes if loop is not None else fixes[:1], (user,)
    )


def _cut(names: list[str]) -> str:
    """Return the detaching statement: ``h, c = h.detach(), c.detach()``; the parts of a tuple at once."""
    bases = {each.rpartition("[")[0] for each in names if each.endswith("]") and each[-2].isdigit()}
    if len(bases) == 1 and all("[" in each for each in names):
        base = bases.pop()
        return f"{base} = tuple(each.detach() for each in {base})"
    return f"{', '.join(names)} = {', '.join(f'{each}.detach()' for each in names)}"


def _after_pass(second: Second, user: int) -> str:
    """Return `` after line 7 (loss.backward()),``, if that line is in the function that uses the tensor."""
    trace = second.failure.trace
    passed, used = source_line(trace, second.first.seq), source_line(trace, user)
    if passed is None or used is None or (passed.file, passed.function) != (used.file, used.function):
        return ""
    return f" after {on_line(trace, passed.seq)},"


def _once(second: Second, crossing: Crossing) -> Diagnosis:
    trace, at = second.failure.trace, second.failure.raised
    user, tensor = index(trace).nodes[crossing.user].seq, result_of(second, crossing)
    name = "that result" if tensor is None else called(trace, tensor, user)
    old, loop = index(trace).nodes.get(crossing.old), in_one_loop(second, crossing)
    where = on_line(trace, old.seq) if old is not None else ""
    computed = f"{begun(name)} was computed only once{f', on {where}' if where else ''}"
    if loop is not None:
        computed = f"{begun(name)} was computed in iteration {loop[0].number}{f', on {where}' if where else ''}"
    again = f"{on_line_in(trace, user)} uses it again. So {on_line_in(trace, at)} reaches the Node again."
    fixes = _once_fixes(second, user, name, None if old is None else old.seq, loop is not None)
    return _diagnosis(second, Statement("second backward: computed once", f"{computed}, and {again}"), fixes, (user,))


def _once_fixes(second: Second, user: int, name: str, made: int | None, kept: bool) -> tuple[str, ...]:
    """Return the fixes for a tensor that is computed once. ``kept`` means from one iteration to the next."""
    trace, line = second.failure.trace, on_line(second.failure.trace, user, text=False)
    detach = f"If no gradient should pass through {name} there, use its detach() on {line}."
    if " " not in name:
        detach = detach.replace("its detach()", f"{name}.detach()")
    if kept:
        return (detach, "Or call backward once, after the loop.")
    where = on_line(trace, made, text=False) if made is not None else "its line"
    anew = f"Compute {name} again for each backward pass: run {where} again before {line}."
    if iterations(trace, user):
        return (anew, detach)
    first = on_line(trace, second.first.seq)
    return (f"Keep the graph in the first pass: retain_graph=True on {first}.", anew, detach)


RULES = ((MESSAGE, second_backward),)
