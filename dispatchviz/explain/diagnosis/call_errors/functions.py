"""Custom Functions whose ``backward`` returns values that autograd does not accept, or nothing.

The recording has the lines that ran in ``backward``. The last one before the error is its ``return``.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.line_syntax import line_tree
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.diagnosis.words import article, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.explain.trace_index.lookups import events_between
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, listed, ordinal

NUMBER = re.compile(r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
SHAPE = re.compile(r"Function (\w+) returned an invalid gradient at index (\d+) - got (\[.*?\]) but .* with (\[.*?\])")
TYPE = re.compile(r"expected Variable or None \(got (\w+)\)")

NEAREST = 400
"""The number of last lines that are searched for those of a ``backward``."""


class Ran(NamedTuple):
    """The last line that ran in a method of a Function."""

    line: ev.SourceLine
    text: str

    @property
    def owner(self) -> str:
        """The name of the class: ``Clip``."""
        return self.line.function.rpartition(".")[0].rpartition(".")[2]


def last_line(failure: Failure, method: str, owner: str = "") -> Ran | None:
    """Return the last line that ran in a method, of the class ``owner`` if it is given."""
    steps = failure.trace.steps_of(ev.SourceLine)
    ending = f"{owner}.{method}" if owner else f".{method}"
    for step in reversed(steps[-NEAREST:]):
        line = failure.trace[step]
        if isinstance(line, ev.SourceLine) and f".{line.function}".endswith(ending if not owner else f".{ending}"):
            return Ran(line, source_text(failure.trace, line))
    return None


def method_of(trace: Trace, owner: str, method: str) -> ast.FunctionDef | None:
    """Return a method in the program's text, or None if there is not exactly one class of that name."""
    nodes = program_nodes(trace)
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == owner]
    body = classes[0].body if len(classes) == 1 else []
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == method), None)


def inputs_of(failure: Failure, owner: str, count: int) -> list[str]:
    """Return the names of the inputs of ``forward``; empty if the program's text has another number of them."""
    forward = method_of(failure.trace, owner, "forward")
    if forward is None or forward.args.vararg is not None:
        return []
    names = [each.arg for each in forward.args.args]
    inputs = names[1:] if names[:1] == ["ctx"] else names
    return inputs if len(inputs) == count else []


# -- return values of backward ----------------------------------------------------------------------------------------


def number(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a ``backward`` that returns too many or too few gradients."""
    numbers = NUMBER.search(failure.message)
    ran = None if numbers is None else last_line(failure, "backward", numbers[1])
    if numbers is None or ran is None:
        return None
    owner, expected, got = numbers[1], int(numbers[2]), int(numbers[3])
    names = inputs_of(failure, owner, expected)
    inputs = f", {listed(names)}" if names else ""
    text = (
        f"{_returned(failure, ran, owner, counted(got, 'gradient'))}, but {owner}.forward has "
        f"{counted(expected, 'input')}{inputs}: autograd needs {counted(expected, 'value')}, one for each."
    )
    fix = _number_fix(failure, ran, names, expected, got)
    return diagnosed_at(failure, Statement("Function: number of gradients", text), ran, fix)


def _returned(failure: Failure, ran: Ran, owner: str, what: str) -> str:
    """Return the text of the return: ``Clip.backward returns one gradient on line 11 (return g)``, or that it ends
    without one.
    """
    where = on_line(failure.trace, ran.line.seq)
    if ran.text.startswith("return"):
        return f"{owner}.backward returns {what} on {where}"
    return f"{owner}.backward ends after {where} without a return, so it returns None"


def _number_fix(failure: Failure, ran: Ran, names: list[str], expected: int, got: int) -> str:
    line = f"line {ran.line.line}"
    if not ran.text.startswith("return"):
        values = listed([f"the one for {name}" for name in names]) if names else counted(expected, "value")
        return f"Return the gradients after {line}: {values}."
    value = _returned_values(ran.text)
    if got > expected:
        return f"Return only {counted(expected, 'value')} on {line}{_for(names)}."
    missing = names[got:] if names else []
    if missing and value and all(_needs_none(failure, ran.owner, at) for at in range(got, expected)):
        nones = ", ".join(["None"] * (expected - got))
        return f"Return None for {listed(missing)} on {line}: return {value}, {nones}."
    rest = f": add {'the one' if expected - got == 1 else 'those'} for {listed(missing)}" if missing else ""
    return f"Return {counted(expected, 'value')} on {line}{rest}; None for an input that needs no gradient."


def _returned_values(text: str) -> str:
    """Return the value of a ``return`` without a comma at its end; empty if the line is only a part of the
    statement.
    """
    try:
        tree = ast.parse(text.removeprefix("return").strip(), mode="eval").body
    except SyntaxError:
        return ""
    return ", ".join(ast.unparse(each) for each in tree.elts) if isinstance(tree, ast.Tuple) else ast.unparse(tree)


def _for(names: list[str]) -> str:
    return f", for {listed(names)}" if names else ""


def _needs_none(failure: Failure, owner: str, at: int) -> bool:
    """Return whether an input of a Function is known to need no gradient, from the call of ``forward`` or because it is
    a constant.
    """
    node = last_node(failure, f"{owner}Backward")
    entered = index(failure.trace).functions.get(node) if node is not None else None
    event = failure.trace[entered] if entered is not None else None
    if isinstance(event, ev.FunctionEntered) and at < len(event.needs_input_grad):
        return not event.needs_input_grad[at]
    nodes = program_nodes(failure.trace)
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{owner}.apply"]
    return len(calls) == 1 and at < len(calls[0].args) and isinstance(calls[0].args[at], ast.Constant)


def last_node(failure: Failure, name: str = "") -> int | None:
    """Return the last Node of a name that the engine began to evaluate."""
    steps = failure.trace.steps_of(ev.NodeStarted)
    for step in reversed(steps[-NEAREST:]):
        event = failure.trace[step]
        if isinstance(event, ev.NodeStarted) and name in ("", event.name):
            return event.node
    return None


def shape(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a ``backward`` that returns a gradient with other sizes than the input."""
    match = SHAPE.search(failure.message)
    owner = match[1].removesuffix("Backward") if match is not None else ""
    ran = last_line(failure, "backward", owner) if owner else None
    if match is None or ran is None:
        return None
    at = int(match[2])
    node = last_node(failure, f"{owner}Backward")
    edges = index(failure.trace).edges.get(node) if node is not None else None
    names = inputs_of(failure, owner, len(edges.edges)) if edges is not None else []
    name = names[at] if at < len(names) else ""
    gradient = f"a gradient with sizes {match[3]} for {name or f'its {ordinal(at + 1)} tensor'}"
    text = (
        f"{_returned(failure, ran, owner, gradient)}, but {name or 'that input'} has sizes {match[4]}: a gradient has "
        f"the sizes of its input."
    )
    fix = f"Return a gradient with sizes {match[4]} for {name or 'it'} on line {ran.line.line}."
    return diagnosed_at(failure, Statement("Function: sizes of a gradient", text), ran, fix)


def kind(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a ``backward`` that returns a value that is not a tensor."""
    match, ran = TYPE.search(failure.message), last_line(failure, "backward")
    if match is None or ran is None or last_node(failure, f"{ran.owner}Backward") != last_node(failure):
        return None
    value = f"{article(match[1])} {match[1]}{_which(failure, ran)}"
    text = f"{_returned(failure, ran, ran.owner, value)}, but a gradient is a tensor or None."
    fix = f"Return a tensor on line {ran.line.line}, such as torch.full_like(grad, value), or None for no gradient."
    return diagnosed_at(failure, Statement("Function: type of a gradient", text), ran, fix)


def _which(failure: Failure, ran: Ran) -> str:
    """Return the place of the wrong value, if the line returns a number among other values."""
    tree = line_tree(failure, ran.line.file, ran.line.line)
    body = tree.body if isinstance(tree, ast.Module) else []
    value = body[0].value if body and isinstance(body[0], ast.Return) else None
    if not isinstance(value, ast.Tuple):
        return ""
    constants = [at for at, each in enumerate(value.elts) if isinstance(each, ast.Constant) and each.value is not None]
    return f" as its {ordinal(constants[0] + 1)} value" if len(constants) == 1 else ""


def diagnosed_at(failure: Failure, cause: Statement, ran: Ran, fix: str) -> Diagnosis:
    found = diagnosed(failure, cause, (fix,))
    return found._replace(at=ran.line.seq, proof=(ran.line.seq, failure.raised))


def returned_none(failure: Failure, started: ev.BackwardStarted) -> Diagnosis | None:
    """Return the diagnosis of a ``grad`` that gets no gradient for an input, because ``backward`` of a Function on the
    path returns nothing.
    """
    for owner in ran_in(failure.trace, started):
        ran = last_line(failure, "backward", owner)
        if ran is not None and returns_nothing(method_of(failure.trace, owner, "backward")):
            text = f"{_returned(failure, ran, owner, 'None')}: no gradient flows on from it."
            fix = f"Return the gradient {'on' if ran.text.startswith('return') else 'after'} line {ran.line.line}."
            return diagnosed_at(failure, Statement("Function: backward returns None", text), ran, fix)
    return None


def ran_in(trace: Trace, started: ev.BackwardStarted) -> list[str]:
    """Return the program's own Functions whose Nodes a backward pass ran, in order."""
    classes = {node.name for node in program_nodes(trace) if isinstance(node, ast.ClassDef)}
    nodes = events_between(trace, ev.NodeStarted, started.seq, len(trace) - 1)
    names = dict.fromkeys(event.name.removesuffix("Backward") for event in nodes)
    return [name for name in names if name in classes]


def returns_nothing(method: ast.FunctionDef | None) -> bool:
    """Return whether a method returns no value on any path."""
    nodes = list(ast.walk(method)) if method is not None else []
    valued = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    return bool(nodes) and not valued and not any(isinstance(node, ast.Raise | ast.Yield) for node in nodes)


RULES = (
    ("returned an incorrect number of gradients", number),
    ("returned an invalid gradient at index", shape),
    ("expected Variable or None", kind),
)
