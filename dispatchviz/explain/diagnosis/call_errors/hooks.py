"""Hooks whose return value cannot replace a gradient: other sizes, another type, another number of gradients."""

from __future__ import annotations

import ast
import re

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.arguments import diagnosed
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.modules import program_nodes
from dispatchviz.explain.diagnosis.words import article, last_name, on_line, sentence
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.foundation.english import counted

NAMED = re.compile(r"hook '(.*?)' has (?:changed|returned)")
RETURNED = re.compile(r"expected Variable, but hook returned '(\w+)'")
COUNT = re.compile(r"\(got (\d+), but expected (\d+)\)")
OF_MODULES = ("register_full_backward_hook", "register_full_backward_pre_hook")
MODULE = re.compile(r"invalid number of (grad_input|grad_output), got (\d+), but expected (\d+)")
TYPES = re.compile(r"was torch\.(\w+)Tensor got torch\.(\w+)Tensor")


def _registered(failure: Failure, name: str = "") -> ev.HookRegistered | None:
    """Return the registration of the hook, or None if several hooks have its name."""
    steps = failure.trace.steps_of(ev.HookRegistered)
    events = [event for step in steps[-1000:] if isinstance(event := failure.trace[step], ev.HookRegistered)]
    hooks = [
        each for each in events if each.function != "retain_grad" and name in ("", each.function) and not each.moved
    ]
    return hooks[0] if len({each.hook for each in hooks}) == 1 else None


def _hook(failure: Failure, name: str = "") -> str:
    """Return the hook in words: ``the hook shrink of x, registered on line 5 (x.register_hook(shrink)),``"""
    hook = _registered(failure, name)
    function = name or (hook.function if hook is not None else "")
    text = f"the hook {function}" if function and function != "<lambda>" else "a hook"
    if hook is None:
        return text
    trace = failure.trace
    if hook.tensor is not None:
        text += f" of {last_name(trace, hook.tensor, failure.raised)}"
    elif hook.node is not None:
        text += f" of {node_title(trace, hook.node, failure.raised)}"
    where = on_line(trace, hook.seq)
    return f"{text}, registered on {where}," if where else text


def _name(failure: Failure) -> str:
    match = NAMED.search(failure.message)
    return "" if match is None else match[1]


def size(failure: Failure) -> Diagnosis:
    """Return the diagnosis of a hook that returns a gradient with other sizes."""
    text = (
        f"{sentence(_hook(failure, _name(failure)))} returns a gradient whose sizes differ from those of the one it "
        "gets."
    )
    fix = "Return a gradient with the sizes of the one that the hook gets, or None to leave it unchanged."
    return _diagnosis(failure, Statement("hook: sizes of a gradient", text), fix)


def dtype(failure: Failure) -> Diagnosis:
    """Return the diagnosis of a hook that returns a gradient of another dtype or on another device."""
    types = TYPES.search(failure.message)
    kinds = f": it gets a torch.{types[1]}Tensor and returns a torch.{types[2]}Tensor" if types is not None else ""
    text = f"{sentence(_hook(failure, _name(failure)))} returns a gradient of another dtype or device{kinds}."
    return _diagnosis(
        failure, Statement("hook: dtype of a gradient", text), "Convert the result of the hook: .to(grad.dtype)."
    )


def no_tensor(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a hook that returns a value that is not a tensor."""
    match = RETURNED.search(failure.message)
    if match is None:
        return None
    hook, value = sentence(_hook(failure)), f"{article(match[1])} {match[1]}"
    text = f"{hook} returns {value}, but only a tensor can replace a gradient."
    fix = (
        "Return a tensor with the sizes of the gradient, such as torch.full_like(grad, value), or None to leave it "
        "unchanged."
    )
    return _diagnosis(failure, Statement("hook: type of a gradient", text), fix)


def count(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a Node's or module's hook that returns another number of gradients."""
    module, numbers = MODULE.search(failure.message), COUNT.search(failure.message)
    if module is not None:
        return _of_module(failure, module[1], int(module[2]), int(module[3]))
    if numbers is None:
        return None
    text = (
        f"{sentence(_hook(failure, _name(failure)))} returns {counted(int(numbers[1]), 'gradient')}, but the Node has "
        f"{counted(int(numbers[2]), 'gradient')} to replace."
    )
    fix = (
        f"Return a tuple of {counted(int(numbers[2]), 'gradient')}, with None for each gradient that you do not change."
    )
    return _diagnosis(failure, Statement("hook: number of gradients", text), fix)


def _of_module(failure: Failure, what: str, got: int, expected: int) -> Diagnosis:
    before = what == "grad_output"
    places = [each.lineno for each in program_nodes(failure.trace) if isinstance(each, ast.Call) and _registers(each)]
    where = f", registered on line {places[0]}," if len(places) == 1 else ""
    text = (
        f"A backward {'pre-hook' if before else 'hook'} of a module{where} returns {counted(got, 'gradient')}, but "
        f"{what}, which it may replace, has {counted(expected, 'gradient')}."
    )
    fix = f"Return a tuple of {counted(expected, 'gradient')}, or None to leave {what} unchanged."
    return _diagnosis(failure, Statement("hook: gradients of a module", text), fix)


def _registers(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in OF_MODULES


def _diagnosis(failure: Failure, cause: Statement, fix: str) -> Diagnosis:
    hook = _registered(failure, _name(failure))
    found = diagnosed(failure, cause, (fix,))
    return found if hook is None else found._replace(proof=(hook.seq, failure.raised))


RULES = (
    ("has changed the size of value", size),
    ("has changed the type of value", dtype),
    ("but hook returned", no_tensor),
    ("has returned an incorrect number of values", count),
    ("hook returned an invalid number of grad_", count),
)
