"""The values on the stacks of boxed calls, compared with PyTorch's own IValues, and the limits of their texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.stack_contents import ITEMS, LETTERS, contents
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.schema.schema_parser import parse_schema
from tests.explain.programs import traced
from truth import records
from truth.questions.stack_contents import BEFORE, CALLS

FALLBACK = """
C = torch._C
KEY = C._dispatch_key_parse("TESTING_ONLY_GenericMode")
def fallback(op, *args, **kwargs):
    with C._ExcludeDispatchKeyGuard(C.DispatchKeySet(KEY)):
        return op(*args, **kwargs)
every = Library("_", "IMPL")
every.fallback(fallback, "TESTING_ONLY_GenericMode")
with C._IncludeDispatchKeyGuard(KEY):
"""
HEAD = BEFORE + FALLBACK

Stack = tuple[tuple[str, str], ...]


@cache
def watched() -> Mapping[str, list[tuple[str, Stack, Stack]]]:
    """The operators that came to the fallback in each call: name, arguments, returns."""
    trace = traced(HEAD + "".join(f"    {statement}\n" for statement in CALLS.values()))
    assert not trace.steps_of(ev.ProgramRaised)
    first = HEAD.count("\n") + 1
    found: dict[str, list[tuple[str, Stack, Stack]]] = {name: [] for name in CALLS}
    for step in trace.steps_of(ev.KernelEntered):
        kernel, line = trace[step], trace[trace.columns.lines[step]]
        assert isinstance(kernel, ev.KernelEntered)
        assert isinstance(line, ev.SourceLine)
        if kernel.kernel == "fallback":
            found[list(CALLS)[line.line - first]].append(_stacks(trace, step))
    return found


def _stacks(trace: Trace, kernel: int) -> tuple[str, Stack, Stack]:
    converted = [each for each in trace.children(kernel) if isinstance(each, (ev.Boxed, ev.Unboxed))]
    assert all(each.values == len(each.contents) for each in converted)
    return converted[0].operator, converted[0].contents, converted[-1].contents


@pytest.mark.record("stack_contents")
@pytest.mark.parametrize("name", CALLS)
def test_stack_contents_equal_pytorchs(name: str) -> None:
    ours = [(operator, *map(_known, stacks)) for operator, *stacks in watched()[name]]
    assert ours == [(operator, *map(_contents, stacks)) for operator, *stacks in records.read("stack_contents")[name]]


def _known(stack: Stack) -> list[tuple[str, str]]:
    """The contents without the facts that the record lacks: numbers of tensors, names of enumerators."""
    plain = ((tag, re.sub(r"^(\d+) \(torch\.\w+\)$", r"\1", text)) for tag, text in stack)
    return [(tag, re.sub(r"\bt\d+\b", "tensor", text)) for tag, text in plain]


def _contents(stack: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    """The contents as PyTorch has them."""
    return [(tag, _shown(tag, value)) for tag, value in stack]


def _shown(tag: str, value: Any, *, gap: str = "undefined") -> str:
    """A value of the record as our text shows it. A missing tensor in a list is None there."""
    match tag:
        case "Tensor":
            return "tensor" if value else gap
        case "GenericList":
            return f"[{', '.join(_shown(*item, gap='None') for item in value)}]"
        case "Tuple":
            return f"({', '.join(_shown(*item) for item in value)})"
        case "GenericDict":
            texts = [_shown(*item) for item in value]
            return f"{{{', '.join(map(': '.join, zip(texts[::2], texts[1::2], strict=True)))}}}"
        case "Double":
            return repr(float.fromhex(value))
        case "ComplexDouble":
            return repr(complex(*map(float.fromhex, value)))
        case "Device":
            return str(value)
        case "Generator" | "Storage":
            return f"<{tag}>"
        case _:
            return repr(value)


def test_long_values_are_cut() -> None:
    schema = parse_schema("mine::f(int[] a, str b, str c) -> ()")
    numbers = tuple(range(ITEMS + 3))
    found = contents([numbers, "y" * LETTERS, "z" * (LETTERS + 1)], schema.arguments, lambda tensor: 0)
    texts = [text for _, text in found]
    assert texts[0] == f"[{', '.join(map(str, range(ITEMS)))}, ... 3 more]"
    assert texts[1] == repr("y" * LETTERS)
    assert texts[2] == repr("z" * (LETTERS - 3) + "...")


ODD = """
import torch
class Asked(type):
    def __getattr__(self, name):
        raise SystemError(f"asked for {name}")
class Odd(metaclass=Asked):
    __getattr__ = Asked.__getattr__
class Text(str):
    def __len__(self):
        raise SystemError("asked for its length")
library = torch.library.Library("mine", "DEF")
library.define("f(Tensor x, Any a, str b) -> Tensor")
library.impl("f", lambda x, a, b: x * 1, "CompositeExplicitAutograd")
torch.ops.mine.f(torch.ones(1), Odd(), Text("text"))
"""


def test_contents_are_recorded_without_running_the_programs_code() -> None:
    trace = traced(ODD)
    assert not trace.steps_of(ev.ProgramRaised)
    stacks = [trace[step] for step in trace.steps_of(ev.Unboxed)]
    found = [each.contents for each in stacks if isinstance(each, ev.Unboxed) and each.operator == "mine::f"]
    assert [[(tag, re.sub(r"\d+", "", text)) for tag, text in stack] for stack in found] == [
        [("Tensor", "t"), ("Object", "<Odd>"), ("String", "'text'")]
    ]
